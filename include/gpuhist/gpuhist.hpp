// gpuhist: exact counts of byte values by bucket. The C++ interface.
//
// The library does not read the environment or the locale, does not use the standard streams unless the caller names
// them, and does not change signal dispositions. All its threads belong to an object (counter) or to a call
// (count_files) and end with it.
#pragma once

#include <gpuhist/api.hpp>
#include <gpuhist/counter.hpp>
#include <gpuhist/errors.hpp>
#include <gpuhist/files.hpp>
#include <gpuhist/named_options.hpp>
#include <gpuhist/options.hpp>
#include <gpuhist/results.hpp>
#include <gpuhist/samples.hpp>
