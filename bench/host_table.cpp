#include "bench/host_table.hpp"

#include "bench/table.hpp"
#include "config/size.hpp"

#include <nlohmann/json.hpp>

namespace gpuhist::bench {

std::string host_table(const host_group& group) {
  std::string text = group.classes + ", " + group.data + ", " + config::format_size(group.bytes) + "\n" +
                     left("  kernel/instruction set", 26) + right("GB/s", 8) + right("cycles a byte", 15) +
                     right("of vector_sum", 15) + "\n";
  for (const host_row& row : group.rows) {
    text += left("  " + row.kernel, 26) + right(fixed(row.bytes_per_second * 1e-9, 2), 8) +
            right(fixed(row.cycles_a_byte, 3), 15) + right(fixed(row.of_sum, 3), 15) + "\n";
  }
  return text;
}

std::string host_json_rows(const host_group& group) {
  std::string text;
  for (const host_row& row : group.rows) {
    const nlohmann::ordered_json object{{"kernel", row.kernel},
                                        {"classes", group.classes},
                                        {"data", group.data},
                                        {"bytes", group.bytes},
                                        {"bytes_per_second", row.bytes_per_second},
                                        {"cycles_a_byte", row.cycles_a_byte},
                                        {"of_vector_sum", row.of_sum}};
    text += object.dump() + "\n";
  }
  return text;
}

std::string host_csv_heading() { return "kernel,classes,data,bytes,bytes_per_second,cycles_a_byte,of_vector_sum\n"; }

std::string host_csv_rows(const host_group& group) {
  std::string text;
  for (const host_row& row : group.rows) {
    text += row.kernel + "," + group.classes + "," + group.data + "," + std::to_string(group.bytes) + "," +
            fixed(row.bytes_per_second, 0) + "," + fixed(row.cycles_a_byte, 4) + "," + fixed(row.of_sum, 4) + "\n";
  }
  return text;
}

}  // namespace gpuhist::bench
