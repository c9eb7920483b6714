// Checksums of manifests, records and results of batch jobs: XXH3, by libxxhash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// Of 64 bits. `seed`: equal bytes with another seed have another checksum.
std::uint64_t checksum_of(std::string_view bytes, std::uint64_t seed = 0);

/// Of 128 bits, as 32 hexadecimal digits.
std::string hash_text(std::string_view bytes);

}  // namespace gpuhist::pipeline
