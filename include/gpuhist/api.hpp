// The visibility of the names of the library.
#pragma once

/// Before a class or function that programs use, also across the boundary of a shared library.
#define GPUHIST_API __attribute__((visibility("default")))
