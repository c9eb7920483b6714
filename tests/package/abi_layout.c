/* The layout of the structures of gpuhist.h: a change of any of these numbers is a new version of the ABI, except that
 * fields may be added at the end. */
#include <gpuhist/gpuhist.h>

#define OFFSET(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)

_Static_assert(GPUHIST_ABI_VERSION == 0, "another version: a new layout may be written here");

OFFSET(gpuhist_options, size, 0);
OFFSET(gpuhist_options, schemes, 8);
OFFSET(gpuhist_options, scheme_count, 16);
OFFSET(gpuhist_options, ignore_case, 24);
OFFSET(gpuhist_options, byte_counts, 28);
OFFSET(gpuhist_options, engine, 32);
OFFSET(gpuhist_options, threads, 36);
OFFSET(gpuhist_options, memory_limit, 40);
SIZE(gpuhist_options, 48);

OFFSET(gpuhist_input_result, size, 0);
OFFSET(gpuhist_input_result, name, 8);
OFFSET(gpuhist_input_result, format, 16);
OFFSET(gpuhist_input_result, error, 24);
OFFSET(gpuhist_input_result, bytes, 32);
OFFSET(gpuhist_input_result, lines, 40);
OFFSET(gpuhist_input_result, unverified_bytes, 48);
OFFSET(gpuhist_input_result, complete, 56);
SIZE(gpuhist_input_result, 64);

SIZE(gpuhist_status, 4);
_Static_assert(GPUHIST_OK == 0 && GPUHIST_INVALID_ARGUMENT == 1 && GPUHIST_MISUSE == 2 && GPUHIST_CLOSED == 3 &&
                   GPUHIST_ENGINE == 4 && GPUHIST_OUT_OF_MEMORY == 5 && GPUHIST_SYSTEM == 6 && GPUHIST_INTERNAL == 7,
               "the values of gpuhist_status");
SIZE(gpuhist_engine, 4);
_Static_assert(GPUHIST_ENGINE_AUTOMATIC == 0 && GPUHIST_ENGINE_HOST == 1 && GPUHIST_ENGINE_CUDA == 2,
               "the values of gpuhist_engine");
