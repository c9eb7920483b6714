// Compressed samples made by zlib, and the text in them.
#pragma once

#include "tests/contract/decoder_contract.hpp"

#define ZLIB_CONST  // input is const
#include <zlib.h>

namespace gpuhist::test {

struct gzip_settings {
  int level = 6;
  int strategy = Z_DEFAULT_STRATEGY;
  int mem_level = 8;  ///< smaller values give more blocks
  int window_bits = 15;
  std::string name{};
  std::string comment{};
  std::string extra{};
  bool header_checksum = false;
  std::size_t flush_bytes = 0;  ///< a flush after each so many bytes of text; 0: none
  int flush = Z_FULL_FLUSH;
};

/// One member that holds `plain`.
byte_vector gzip_member_of(std::span<const std::byte> plain, gzip_settings settings = {});

/// One BGZF block that holds `plain` (at most 65280 bytes, as bgzip splits them). `fields_before`: other extra fields
/// before its size.
byte_vector bgzf_block_of(std::span<const std::byte> plain, const std::string& fields_before = {});

/// The empty block that ends a BGZF file, copied from the specification.
byte_vector bgzf_end();

/// Joins members.
class gzip_sample_builder {
 public:
  explicit gzip_sample_builder(std::string name) { sample_.name = std::move(name); }
  gzip_sample_builder& member(const byte_vector& plain, const gzip_settings& settings = {});
  gzip_sample_builder& block(const byte_vector& plain, const std::string& fields_before = {});
  gzip_sample_builder& padding(std::size_t length);
  decoder_sample build() { return std::move(sample_); }

 private:
  gzip_sample_builder& add(const byte_vector& plain, const byte_vector& packed);

  decoder_sample sample_;
};

}  // namespace gpuhist::test
