// Completions for shells, from the same tables as the help. Each function returns a whole script.
#pragma once

#include <string>

namespace gpuhist::config {

/// For bash 4 and later, without the bash-completion package.
std::string bash_completions();

/// A file _gpuhist for a folder of zsh's fpath.
std::string zsh_completions();

std::string fish_completions();

}  // namespace gpuhist::config
