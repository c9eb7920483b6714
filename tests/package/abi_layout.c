/* The layout of the structure of gpuhist.h, and its numbers: a change of any of these is a new version of the ABI, but
 * fields may be added at the end. */
#include <gpuhist/gpuhist.h>

#define OFFSET(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)

_Static_assert(GPUHIST_ABI_VERSION == 0, "another version: a new layout may be written here");

OFFSET(gpuhist_input_options, size, 0);
OFFSET(gpuhist_input_options, format, 8);
OFFSET(gpuhist_input_options, max_output, 16);
OFFSET(gpuhist_input_options, on_kept, 24);
OFFSET(gpuhist_input_options, kept_context, 32);
SIZE(gpuhist_input_options, 40);

SIZE(gpuhist_status, 4);
_Static_assert(GPUHIST_OK == 0 && GPUHIST_INVALID_ARGUMENT == 1 && GPUHIST_MISUSE == 2 && GPUHIST_CLOSED == 3 &&
                   GPUHIST_ENGINE == 4 && GPUHIST_OUT_OF_MEMORY == 5 && GPUHIST_SYSTEM == 6 && GPUHIST_INTERNAL == 7 &&
                   GPUHIST_CALLBACK == 8,
               "the values of gpuhist_status");
_Static_assert(GPUHIST_EVENT_WINDOW == 1 && GPUHIST_EVENT_VERDICT == 2 && GPUHIST_EVENT_UNIT == 3 &&
                   GPUHIST_EVENT_ALERT == 4 && GPUHIST_EVENT_NOTICE == 5 && GPUHIST_EVENT_SNAPSHOT == 6 &&
                   GPUHIST_EVENT_INPUT == 7 && GPUHIST_EVENT_PROGRESS == 8,
               "the values of gpuhist_event_kind()");
