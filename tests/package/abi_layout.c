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
OFFSET(gpuhist_options, devices, 48);
OFFSET(gpuhist_options, device_count, 56);
OFFSET(gpuhist_options, temporary_folder, 64);
OFFSET(gpuhist_options, window_unit, 72);
OFFSET(gpuhist_options, windows_per_input, 76);
OFFSET(gpuhist_options, window_length, 80);
OFFSET(gpuhist_options, window_step, 88);
OFFSET(gpuhist_options, on_window, 96);
OFFSET(gpuhist_options, window_context, 104);
OFFSET(gpuhist_options, pairs, 112);
OFFSET(gpuhist_options, all_devices, 116);
OFFSET(gpuhist_options, units, 120);
OFFSET(gpuhist_options, on_unit, 128);
OFFSET(gpuhist_options, unit_context, 136);
OFFSET(gpuhist_options, on_notice, 144);
OFFSET(gpuhist_options, notice_context, 152);
OFFSET(gpuhist_options, on_kept, 160);
OFFSET(gpuhist_options, kept_context, 168);
OFFSET(gpuhist_options, skip_damage, 176);
OFFSET(gpuhist_options, count_unverified, 180);
SIZE(gpuhist_options, 184);

OFFSET(gpuhist_unit_options, size, 0);
OFFSET(gpuhist_unit_options, each, 8);
OFFSET(gpuhist_unit_options, delimiter, 12);
OFFSET(gpuhist_unit_options, part_bytes, 16);
OFFSET(gpuhist_unit_options, where, 24);
OFFSET(gpuhist_unit_options, top_by, 32);
OFFSET(gpuhist_unit_options, distribution_of, 40);
OFFSET(gpuhist_unit_options, top, 48);
OFFSET(gpuhist_unit_options, filter, 52);
OFFSET(gpuhist_unit_options, jsonl_field, 56);
SIZE(gpuhist_unit_options, 64);

OFFSET(gpuhist_input_options, size, 0);
OFFSET(gpuhist_input_options, format, 8);
OFFSET(gpuhist_input_options, max_output, 16);
OFFSET(gpuhist_input_options, on_kept, 24);
OFFSET(gpuhist_input_options, kept_context, 32);
SIZE(gpuhist_input_options, 40);

OFFSET(gpuhist_input_result, size, 0);
OFFSET(gpuhist_input_result, name, 8);
OFFSET(gpuhist_input_result, format, 16);
OFFSET(gpuhist_input_result, error, 24);
OFFSET(gpuhist_input_result, bytes, 32);
OFFSET(gpuhist_input_result, lines, 40);
OFFSET(gpuhist_input_result, unverified_bytes, 48);
OFFSET(gpuhist_input_result, complete, 56);
OFFSET(gpuhist_input_result, failure, 60);
OFFSET(gpuhist_input_result, compressed_bytes, 64);
OFFSET(gpuhist_input_result, notices, 72);
SIZE(gpuhist_input_result, 80);

OFFSET(gpuhist_window_info, size, 0);
OFFSET(gpuhist_window_info, input, 8);
OFFSET(gpuhist_window_info, last_input, 16);
OFFSET(gpuhist_window_info, error, 24);
OFFSET(gpuhist_window_info, index, 32);
OFFSET(gpuhist_window_info, first_offset, 40);
OFFSET(gpuhist_window_info, end_offset, 48);
OFFSET(gpuhist_window_info, bytes, 56);
OFFSET(gpuhist_window_info, lines, 64);
OFFSET(gpuhist_window_info, end, 72);
OFFSET(gpuhist_window_info, verified, 76);
SIZE(gpuhist_window_info, 80);

OFFSET(gpuhist_unit_info, size, 0);
OFFSET(gpuhist_unit_info, input, 8);
OFFSET(gpuhist_unit_info, number, 16);
OFFSET(gpuhist_unit_info, line, 24);
OFFSET(gpuhist_unit_info, offset, 32);
OFFSET(gpuhist_unit_info, bytes, 40);
OFFSET(gpuhist_unit_info, verified, 48);
OFFSET(gpuhist_unit_info, values, 52);
OFFSET(gpuhist_unit_info, without_field, 56);
OFFSET(gpuhist_unit_info, field_bytes, 64);
SIZE(gpuhist_unit_info, 72);

OFFSET(gpuhist_unit_summary, size, 0);
OFFSET(gpuhist_unit_summary, seen, 8);
OFFSET(gpuhist_unit_summary, bytes, 16);
OFFSET(gpuhist_unit_summary, selected, 24);
OFFSET(gpuhist_unit_summary, selected_bytes, 32);
OFFSET(gpuhist_unit_summary, ranked, 40);
OFFSET(gpuhist_unit_summary, ranges, 48);
OFFSET(gpuhist_unit_summary, without_value, 56);
OFFSET(gpuhist_unit_summary, without_field, 64);
OFFSET(gpuhist_unit_summary, unverified, 72);
OFFSET(gpuhist_unit_summary, unverified_bytes, 80);
SIZE(gpuhist_unit_summary, 88);

SIZE(gpuhist_status, 4);
_Static_assert(GPUHIST_OK == 0 && GPUHIST_INVALID_ARGUMENT == 1 && GPUHIST_MISUSE == 2 && GPUHIST_CLOSED == 3 &&
                   GPUHIST_ENGINE == 4 && GPUHIST_OUT_OF_MEMORY == 5 && GPUHIST_SYSTEM == 6 && GPUHIST_INTERNAL == 7 &&
                   GPUHIST_CALLBACK == 8,
               "the values of gpuhist_status");
SIZE(gpuhist_engine, 4);
_Static_assert(GPUHIST_ENGINE_AUTOMATIC == 0 && GPUHIST_ENGINE_HOST == 1 && GPUHIST_ENGINE_CUDA == 2,
               "the values of gpuhist_engine");
_Static_assert(GPUHIST_UNIT_LINE == 0 && GPUHIST_UNIT_RECORD == 1 && GPUHIST_UNIT_PART == 2 &&
                   GPUHIST_UNIT_INPUT == 3 && GPUHIST_UNIT_WINDOW == 4,
               "the values of gpuhist_unit_options.each");
_Static_assert(GPUHIST_FILTER_NONE == 0 && GPUHIST_FILTER_KEEP == 1 && GPUHIST_FILTER_DROP == 2,
               "the values of gpuhist_unit_options.filter");
