#include "report/units/unit_renderer.hpp"

namespace gpuhist::report::units {

void unit_line_output::write_all(std::span<const rendered_units> found,
                                 const std::function<void(std::string_view lines)>& to) const {
  constexpr std::size_t enough = std::size_t{64} * 1024;
  std::string lines;
  for (const rendered_units& each : found) {
    const std::string beginning = form->beginning_of(*each.input);
    std::size_t begin = 0;
    for (const rendered_units::line& line : each.lines) {
      lines += beginning;
      form->add_place(line.place, lines);
      lines.append(reinterpret_cast<const char*>(each.ends.bytes().data()) + begin, line.end - begin);
      begin = line.end;
      if (lines.size() < enough) continue;
      to(lines);
      lines.clear();
    }
  }
  if (!lines.empty()) to(lines);
}

}  // namespace gpuhist::report::units
