// The headers of an rpm package, which precede its payload: a cpio archive, usually compressed.
#pragma once

#include "io/archive/zip_records.hpp"
#include "io/byte_reader.hpp"

namespace gpuhist::io {

/// Passes the lead, the signature and the header of a package, up to its payload. Throws input_error. `input`: for the
/// places in messages. The format is that of RPM 4 (docs/manual/format_v4.md of rpm): the lead has 96 bytes; signature
/// and header begin with a magic number, have an index of 16 bytes for each entry and then their data, with numbers in
/// big endian; the signature is padded to a multiple of 8 bytes.
void pass_rpm_headers(byte_sequence& package, const byte_reader& input);

}  // namespace gpuhist::io
