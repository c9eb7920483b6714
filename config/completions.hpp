// Completions for shells, generated from the tables of the help. Each function returns a whole script.
#pragma once

#include <string>

namespace gpuhist::config {

/// For bash 4 and later, without the bash-completion package.
std::string bash_completions();

/// The file _gpuhist for a directory of zsh's fpath.
std::string zsh_completions();

std::string fish_completions();

}  // namespace gpuhist::config
