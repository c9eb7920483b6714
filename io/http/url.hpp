// Addresses of inputs on servers.
#pragma once

#include <string>
#include <string_view>

namespace gpuhist::io::http {

/// Whether the name of an input is an address that is read: "http://..." or "https://...".
bool is_url(std::string_view name);

/// The same, but not of a file that has such a path.
bool is_remote(const std::string& name);

/// The name of the input in messages and results. The values of a query are hidden: they may be a signature, which
/// permits to read the object.
std::string shown_url(std::string_view name);

/// Why the address is refused; empty: it is not.
std::string refusal_of(std::string_view url);

}  // namespace gpuhist::io::http
