#include "io/archive/zip_member_decoder.hpp"

#include "io/failure.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::uint16_t deflated = 8;
constexpr std::uint16_t descriptor_follows = 8;
constexpr std::uint16_t flags_of_encryption = 0x2041;  // encrypted, strongly encrypted, masked local header
constexpr std::uint64_t min_text = 4096;               // of less, decoding ahead takes longer than it saves

bool is_decodable(const zip_entry& entry, std::uint64_t max_text) {
  constexpr std::uint16_t type_of_files = 0100000;
  constexpr std::uint16_t type_of_fifos = 0010000;
  const bool is_file = entry.type == 0 || entry.type == type_of_files || entry.type == type_of_fifos;
  return entry.method == deflated && (entry.flags & flags_of_encryption) == 0 && is_file && entry.packed > 0 &&
         entry.packed <= max_text && entry.bytes >= min_text && entry.bytes <= max_text;
}

// Whether all entries are in front of the directory, one after the other. They are sorted by offset.
bool are_in_order(std::span<const zip_entry> entries, std::uint64_t directory_at) {
  std::uint64_t end = 0;
  for (const zip_entry& each : entries) {
    const std::uint64_t header = zip_local_bytes + each.name_bytes;
    if (each.header_at < end || each.header_at > directory_at) return false;
    const std::uint64_t room = directory_at - each.header_at;
    if (room < header || room - header < each.packed) return false;
    end = each.header_at + header + each.packed;
  }
  return true;
}

// Compares the sizes that a local header states, in its zip64 field where necessary.
bool has_sizes_of(const zip_entry& member, std::span<const std::byte> header, std::span<const std::byte> extra) {
  const bool may_follow = (member.flags & descriptor_follows) != 0;
  const auto same = [&](std::uint64_t stated, std::uint64_t value) {
    return stated == value || (stated == 0 && may_follow);
  };
  std::uint64_t bytes = zip_number(header, 22, 4);
  std::uint64_t packed = zip_number(header, 18, 4);
  constexpr unsigned zip64 = 1;
  constexpr std::size_t field_head = 4;
  while ((bytes == in_zip64 || packed == in_zip64) && extra.size() >= field_head) {
    const std::size_t size = zip_number(extra, 2, 2);
    if (size > extra.size() - field_head) return false;
    auto field = extra.subspan(field_head, size);
    if (zip_number(extra, 0, 2) == zip64) {
      for (std::uint64_t* const value : {&bytes, &packed}) {
        if (*value != in_zip64) continue;
        if (field.size() < sizeof *value) return false;
        *value = zip_number(field, 0, sizeof *value);
        field = field.subspan(sizeof *value);
      }
      break;
    }
    extra = extra.subspan(field_head + size);
  }
  return same(bytes, member.bytes) && same(packed, member.packed);
}

// `header`: with name and extra fields.
bool agrees(const zip_entry& member, std::span<const std::byte> header) {
  const bool may_follow = (member.flags & descriptor_follows) != 0;
  const std::uint64_t crc = zip_number(header, 14, 4);
  return zip_number(header, 6, 2) == member.flags && zip_number(header, 8, 2) == member.method &&
         (crc == member.crc || (crc == 0 && may_follow)) && zip_number(header, 26, 2) == member.name_bytes &&
         zip_name_hash(header.subspan(zip_local_bytes, member.name_bytes)) == member.name_hash &&
         has_sizes_of(member, header, header.subspan(zip_local_bytes + member.name_bytes));
}

class zip_list_decoder final : public member_decoder {
 public:
  explicit zip_list_decoder(std::shared_ptr<const std::vector<zip_entry>> entries) : entries_(std::move(entries)) {}

  std::optional<std::uint64_t> decode(const file_source& file, const listed_member& member,
                                      std::span<std::byte> room) override {
    return decoder_.decode(file, (*entries_)[member.number], room);
  }

 private:
  const std::shared_ptr<const std::vector<zip_entry>> entries_;
  zip_member_decoder decoder_;
};

}  // namespace

std::vector<zip_entry> decodable_zip_members(byte_reader& file, std::size_t most, std::uint64_t max_text) {
  try {
    zip_records records(file);
    const std::uint64_t at = records.find_directory(records.find_end(file.seekable_bytes().value_or(0)));
    file.seek(at);
    byte_sequence rest(file, at);
    std::vector<zip_entry> entries = records.read_directory(rest, most).entries;
    const zip_end_record stated = records.read_ends(rest);
    if (stated.directory_at > at) return {};
    const std::uint64_t front = at - stated.directory_at;  // bytes in front of the archive
    std::ranges::sort(entries, {}, &zip_entry::header_at);
    if (!are_in_order(entries, stated.directory_at)) return {};
    std::erase_if(entries, [&](const zip_entry& each) { return !is_decodable(each, max_text); });
    for (zip_entry& each : entries) each.header_at += front;
    return entries;
  } catch (const input_error&) {
    return {};  // the walk over the archive reports it
  }
}

std::optional<std::uint64_t> zip_member_decoder::decode(const file_source& file, const zip_entry& member,
                                                        std::span<std::byte> room) {
  const std::size_t named = zip_local_bytes + member.name_bytes;
  header_.resize(named);
  if (file.read_at(header_, member.header_at) < named || !has_magic(header_, zip_local_magic)) return std::nullopt;
  header_.resize(named + zip_number(header_, 28, 2));
  const auto extra = std::span(header_).subspan(named);
  if (!extra.empty() && file.read_at(extra, member.header_at + named) < extra.size()) return std::nullopt;
  if (!agrees(member, header_)) return std::nullopt;
  const std::uint64_t data_at = member.header_at + header_.size();
  const auto packed = room.first(static_cast<std::size_t>(member.packed));
  if (file.read_at(packed, data_at) < packed.size()) return std::nullopt;
  const auto padded = room.subspan(packed.size());
  std::fill_n(padded.begin(), whole_inflater::padding, std::byte{0});
  const auto text = padded.subspan(whole_inflater::padding, static_cast<std::size_t>(member.bytes));
  if (inflater_.inflate(packed, text) != member.crc) return std::nullopt;
  return data_at;
}

member_list list_zip_members(byte_reader& file, std::size_t most_list_bytes, std::uint64_t max_text) {
  constexpr std::size_t of_member = sizeof(zip_entry) + sizeof(listed_member);
  auto found = decodable_zip_members(file, most_list_bytes / of_member, max_text);
  found.shrink_to_fit();
  const auto entries = std::make_shared<const std::vector<zip_entry>>(std::move(found));
  member_list list{.list_bytes = entries->size() * of_member,
                   .work_bytes = zip_member_decoder::work_bytes,
                   .make_decoder = [entries] { return std::make_unique<zip_list_decoder>(entries); }};
  list.members.reserve(entries->size());
  for (const zip_entry& each : *entries) {
    list.members.push_back({.position = each.header_at,
                            .packed = each.packed,
                            .bytes = each.bytes,
                            .crc = each.crc,
                            .number = list.members.size()});
  }
  return list;
}

}  // namespace gpuhist::io
