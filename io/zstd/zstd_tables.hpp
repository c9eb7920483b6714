// The decoding tables of zstd blocks (RFC 8878, 4): a Huffman code for literals, and an FSE code for each of the three
// numbers of a sequence. They are built from descriptions, which blocks hold and which later blocks may repeat.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// The numbers of a sequence, in the order of their descriptions in a block.
enum class zstd_code { literal_length, offset, match_length };
inline constexpr std::size_t zstd_codes = 3;

/// Decodes symbols of literals: the index is the next 11 bits of a stream.
struct zstd_literal_table {
  static constexpr unsigned log = 11;

  /// symbol << 8 | length of its code
  std::array<std::uint16_t, std::size_t{1} << log> entries{};
};

/// A state of an FSE code, and the number that it represents: base() plus the value of extra_bits() bits. The next
/// state is next() plus the value of next_bits() bits.
class zstd_state {
 public:
  zstd_state() = default;
  constexpr zstd_state(std::uint32_t base, unsigned extra_bits, std::uint32_t next = 0, unsigned next_bits = 0)
      : bits_(base | std::uint64_t{next} << 32U | std::uint64_t{next_bits} << 48U | std::uint64_t{extra_bits} << 56U) {}

  [[nodiscard]] std::uint32_t base() const { return static_cast<std::uint32_t>(bits_); }
  [[nodiscard]] std::uint32_t next() const { return static_cast<std::uint16_t>(bits_ >> 32U); }
  [[nodiscard]] unsigned next_bits() const { return static_cast<std::uint8_t>(bits_ >> 48U); }
  [[nodiscard]] unsigned extra_bits() const { return static_cast<unsigned>(bits_ >> 56U); }

  /// next_bits() + extra_bits() * 256.
  [[nodiscard]] unsigned both_bits() const { return static_cast<unsigned>(bits_ >> 48U); }

 private:
  std::uint64_t bits_ = 0;  // one word, which is read by one instruction
};

struct zstd_sequence_table {
  static constexpr unsigned max_log = 9;

  unsigned log = 0;
  std::array<zstd_state, std::size_t{1} << max_log> states{};
};

/// What a block states about a table: how to build it, or that the last one is used again.
struct zstd_description {
  enum class kind { repeated, predefined, single, listed };

  kind is = kind::repeated;

  /// With single: the symbol. With listed: the distribution; of literals, the literals section with the tree.
  std::span<const std::byte> bytes{};
};

/// Of the literals, and then of each zstd_code.
using zstd_descriptions = std::array<zstd_description, 1 + zstd_codes>;

/// The descriptions of a block, with their bytes.
struct zstd_kept_descriptions {
  zstd_kept_descriptions() = default;

  /// Copies the bytes. Throws std::bad_alloc.
  explicit zstd_kept_descriptions(const zstd_descriptions& of_block);

  zstd_descriptions each{};
  std::shared_ptr<const std::vector<std::byte>> bytes{};
};

/// The last description of each table that is not `repeated`.
class zstd_known_tables {
 public:
  /// Those of the next block, which are shared.
  void add(const zstd_kept_descriptions& of_block);

  /// With kind repeated: it is not known. Borrows from *this.
  [[nodiscard]] const zstd_descriptions& get() const { return last_; }

 private:
  zstd_descriptions last_{};
  std::array<std::shared_ptr<const std::vector<std::byte>>, 1 + zstd_codes> bytes_{};
};

/// The bytes after the header of a literals section with a tree: the tree, and then the streams.
std::span<const std::byte> tree_of(std::span<const std::byte> section);

/// Builds the Huffman code that `bytes` begins with. Returns the size of the description; nothing if it is invalid.
std::optional<std::size_t> build_literal_table(std::span<const std::byte> bytes, zstd_literal_table& table);

/// As build_literal_table(). Precondition: `is` is not repeated. For a predefined code `bytes` is not used.
std::optional<std::size_t> build_sequence_table(zstd_code code, zstd_description::kind is,
                                                std::span<const std::byte> bytes, zstd_sequence_table& table);

/// The distribution of a code as a block would list it; of one that is not known, the predefined one. That of a single
/// symbol has the same symbols, but states of 5 bits.
std::vector<std::byte> listed_distribution(zstd_code code, const zstd_description& of);

}  // namespace gpuhist::io
