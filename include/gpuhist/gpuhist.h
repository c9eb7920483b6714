/* gpuhist: exact counts of byte values by bucket. The C interface.
 *
 * Version 0: functions and fields may still change between versions of the library; gpuhist_abi_version() and the name
 * of the shared library change with them.
 *
 * Handles are opaque and are destroyed by their _destroy function, which accepts null. Every function that can fail
 * returns a gpuhist_status. After a failure, gpuhist_error_text() describes it; options are named as on the command
 * line (--threads). Strings are UTF-8 or raw bytes, end in NUL, and are copied. No function writes to standard streams,
 * changes signal dispositions, or reads the environment.
 *
 * Structures begin with their size, which the caller sets. A field that the library does not know, because the caller
 * was compiled with a newer header, must be zero, else GPUHIST_INVALID_ARGUMENT. Fields that the caller does not know
 * have their defaults. No structure has padding.
 *
 * Threads: functions of a counter may be called by any threads at once. An input, and a buffer lent for it, is used by
 * one thread at a time; a second one gets GPUHIST_MISUSE. Functions with const gpuhist_results may be called by any
 * threads at once. A _destroy function is the last call with its handle. Functions block, and call back on other
 * threads: a binding for Python must not hold the lock of the interpreter while it calls them (ctypes releases it).
 */
#ifndef GPUHIST_H
#define GPUHIST_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GPUHIST_C_API __attribute__((visibility("default")))
#else
#define GPUHIST_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GPUHIST_ABI_VERSION 0

typedef int32_t gpuhist_status;
enum {
  GPUHIST_OK = 0,
  GPUHIST_INVALID_ARGUMENT = 1, /* an unknown name, a null pointer, a size that exceeds the memory limit */
  GPUHIST_MISUSE = 2,           /* feeding an input that has ended, or from two threads at once; a call in a callback */
  GPUHIST_CLOSED = 3,           /* the counter was finished, cancelled, or stopped by a failure */
  GPUHIST_ENGINE = 4,           /* the requested engine cannot be used, or failed */
  GPUHIST_OUT_OF_MEMORY = 5,
  GPUHIST_SYSTEM = 6,   /* the system refused a resource: a thread, a file */
  GPUHIST_INTERNAL = 7, /* an exception that the library does not expect */
  GPUHIST_CALLBACK = 8  /* a callback of the caller threw an exception: on_window, on_unit or on_kept, which ends
                         * gpuhist_counter_finish(); or `release`, then of gpuhist_results_failure() */
};

typedef uint32_t gpuhist_engine;
enum {
  GPUHIST_ENGINE_AUTOMATIC = 0, /* the host, and GPUs if the cores are saturated */
  GPUHIST_ENGINE_HOST = 1,
  GPUHIST_ENGINE_CUDA = 2
};

/* gpuhist_options.window_unit */
enum { GPUHIST_WINDOW_BYTES = 0, GPUHIST_WINDOW_LINES = 1, GPUHIST_WINDOW_MILLISECONDS = 2 };

/* gpuhist_unit_options.each: what a unit is */
enum {
  GPUHIST_UNIT_LINE = 0,   /* with its line feed */
  GPUHIST_UNIT_RECORD = 1, /* with the byte that ends it */
  GPUHIST_UNIT_PART = 2,   /* of a fixed size, except the last one of an input */
  GPUHIST_UNIT_INPUT = 3,  /* the verified text of an input */
  GPUHIST_UNIT_WINDOW = 4  /* of gpuhist_options.window_length */
};

/* gpuhist_unit_options.filter: which text on_kept receives */
enum {
  GPUHIST_FILTER_NONE = 0,
  GPUHIST_FILTER_KEEP = 1, /* of the units for which `where` holds */
  GPUHIST_FILTER_DROP = 2  /* of the other units */
};

/* gpuhist_input_result.failure: why an input is not complete */
enum {
  GPUHIST_FAILURE_NONE = 0,
  GPUHIST_FAILURE_NOT_READ = 1,   /* the run ended before this input was started */
  GPUHIST_FAILURE_STOPPED = 2,    /* the run ended while it was being read, or it was not finished */
  GPUHIST_FAILURE_UNREADABLE = 3, /* it could not be read: gpuhist_input_fail() */
  GPUHIST_FAILURE_DAMAGED = 4,    /* its content contradicts its format or a checksum */
  GPUHIST_FAILURE_REFUSED = 5,    /* an unknown format, a limit */
  GPUHIST_FAILURE_OUT_OF_MEMORY =
      6,                           /* memory, descriptors or threads are insufficient, or the memory limit is too low */
  GPUHIST_FAILURE_NOT_COUNTED = 7, /* it was read, but the engine failed */
  GPUHIST_FAILURE_UNKNOWN = 8
};

/* gpuhist_results_notice(): what deserves a remark about an input that is counted all the same. It is no failure. */
enum {
  GPUHIST_NOTICE_NAME_DIFFERS = 0,        /* its content is not what its name promises; the content decided */
  GPUHIST_NOTICE_UNKNOWN_COMPRESSION = 1, /* its bytes are of a format that is not read, and were counted as they are */
  GPUHIST_NOTICE_NO_END_MARKER = 2,       /* the marker at its end is missing, and everything before it is intact */
  GPUHIST_NOTICE_TRAILING_DATA = 3,       /* what follows the end of the archive was not counted */
  GPUHIST_NOTICE_NO_END_BLOCKS = 4,       /* the archive has no end, and an outer layer verified that it is whole */
  GPUHIST_NOTICE_UNKNOWN = 5
};

/* gpuhist_window_info.end: why a window has closed */
enum { GPUHIST_WINDOW_FULL = 0, GPUHIST_WINDOW_INPUT_ENDED = 1, GPUHIST_WINDOW_ERROR = 2 };

typedef struct gpuhist_counter gpuhist_counter;
typedef struct gpuhist_input gpuhist_input;
typedef struct gpuhist_buffer gpuhist_buffer;
typedef struct gpuhist_results gpuhist_results;
typedef struct gpuhist_window gpuhist_window;
typedef struct gpuhist_unit gpuhist_unit;

/* How texts are divided into units, and which units are reported (docs/units.md). Set `size`, and all other fields to
 * zero for lines that are only counted. */
typedef struct gpuhist_unit_options {
  size_t size;
  uint32_t each;               /* GPUHIST_UNIT_... */
  uint32_t delimiter;          /* of records: 0 to 255 */
  uint64_t part_bytes;         /* of parts, 1 to 2^30 */
  const char* where;           /* a condition that selects units: "digit > 0.5"; null: none */
  const char* top_by;          /* a formula; null with top = 0 */
  const char* distribution_of; /* a formula; null: no distribution */
  uint32_t top;                /* keep so many units with the highest values of top_by */
  uint32_t filter;             /* GPUHIST_FILTER_...; requires `where`, and on_kept: of every input, or for a file */
  /* Only of lines, which are JSON objects: the decoded string in this field (UTF-8) is measured instead of the line;
   * null: lines are measured. Lines that have none: gpuhist_unit_info.without_field, gpuhist_options.on_notice. */
  const char* jsonl_field;
} gpuhist_unit_options;

/* Set `size` to sizeof(gpuhist_options), and all other fields to zero for the defaults. */
typedef struct gpuhist_options {
  size_t size;
  const char* const* schemes; /* names; definitions "[name:]bucket=characters;..." (name: custom); null: "classes" */
  size_t scheme_count;
  int32_t ignore_case; /* not 0: A-Z are counted as a-z */
  int32_t byte_counts; /* not 0: keep the counts of all 256 values */
  gpuhist_engine engine;
  uint32_t threads;             /* 0: one for each core */
  uint64_t memory_limit;        /* bytes; 0: 256 MiB, for gpuhist_count_file 1 GiB */
  const uint32_t* devices;      /* CUDA devices by number */
  size_t device_count;          /* 0: the first usable one */
  const char* temporary_folder; /* for the counts of very many inputs; null: they are kept in memory */
  uint32_t window_unit;         /* GPUHIST_WINDOW_... */
  int32_t windows_per_input;    /* not 0: every input has its own windows; 0: only one input may be open at a time */
  uint64_t window_length;       /* in the unit; 0: no windows */
  uint64_t window_step;         /* 0: window_length */
  /* Every window, in their order, as soon as it has closed; called on a thread of the counter, one call at a time. Not
   * 0: the counter is cancelled. The window is valid during the call. Calls with the counter and its inputs return
   * GPUHIST_MISUSE, except gpuhist_counter_cancel. */
  int32_t (*on_window)(void* context, const gpuhist_window* window);
  void* window_context;
  int32_t pairs;       /* not 0: also count how often each bucket follows each bucket; schemes of up to 32 classes */
  int32_t all_devices; /* not 0: all usable CUDA devices, if device_count is 0 */
  const gpuhist_unit_options* units; /* null: no units are measured */
  /* Every unit that `where` selects, with a filter every one that is not kept; those of an input in order. As
   * on_window: on a thread of the counter, one call at a time; not 0: the counter is cancelled. The unit is valid
   * during the call. Calls that feed or end an input wait for it, so it must not wait for anything that such a caller
   * holds. */
  int32_t (*on_unit)(void* context, const gpuhist_unit* unit);
  void* unit_context;
  /* Messages for people: an input that was fed and has failed, by damage or otherwise, when it and all inputs that were
   * opened before have ended; and the first line without jsonl_field of each input. As on_window. The text is valid
   * during the call. */
  int32_t (*on_notice)(void* context, const char* text);
  void* notice_context;
  /* Only for gpuhist_count_file, with gpuhist_unit_options.filter: receives the text of the units that are kept, in
   * order, on a thread of the run, one call at a time. The bytes are valid during the call. Not 0: the reading ends,
   * and it is not called again. (Of inputs that are fed: gpuhist_input_options.on_kept.) */
  int32_t (*on_kept)(void* context, const void* bytes, size_t size);
  void* kept_context;
  /* Only for gpuhist_count_file. Not 0: continue after a damaged part, at the next intact frame or member. A filter
   * then drops the units with damaged text, and holds the text of each frame until it is verified, if it is long in
   * `temporary_folder`; null: in memory. */
  int32_t skip_damage;
  int32_t count_unverified; /* only for gpuhist_count_file. Not 0: unverified text is in the totals */
} gpuhist_options;

/* How the bytes of an input are read. Set `size`, and all other fields to zero for bytes that are the text. */
typedef struct gpuhist_input_options {
  size_t size;
  const char* format;  /* "zstd", "gzip", ...; "": the first bytes decide; null or "raw": the bytes are the text */
  uint64_t max_output; /* most bytes of text of a compressed input; 0: unlimited */
  /* With gpuhist_unit_options.filter, and only then: receives the text of the units that are kept, in order, on the
   * thread that feeds, finishes or fails the input, or finishes the counter, within that call. The bytes are valid
   * during the call. Calls with the counter and its inputs return GPUHIST_MISUSE, except gpuhist_counter_cancel. Not 0:
   * the counter is cancelled. */
  int32_t (*on_kept)(void* context, const void* bytes, size_t size);
  void* kept_context;
} gpuhist_input_options;

/* One input of a result. Set `size` before the call. Strings are valid until the results are destroyed. */
typedef struct gpuhist_input_result {
  size_t size;
  const char* name;
  const char* format;
  const char* error; /* "" if there was none */
  uint64_t bytes;    /* of verified text */
  uint64_t lines;    /* line feeds in it */
  uint64_t unverified_bytes;
  int32_t complete;
  int32_t failure;           /* GPUHIST_FAILURE_... */
  uint64_t compressed_bytes; /* read so far; 0 if it is not compressed */
  uint64_t notices;          /* number of notices that gpuhist_results_notice() has: at most one of each kind */
} gpuhist_input_result;

/* A window. Set `size` before the call. Strings are valid during the callback. */
typedef struct gpuhist_window_info {
  size_t size;
  const char* input;      /* of its first text; "": none yet */
  const char* last_input; /* of its last text */
  const char* error;      /* why text is missing; "": none is */
  uint64_t index;         /* from 0, in the order in which windows close */
  uint64_t first_offset;  /* in the text of the input, or of all inputs in sequence */
  uint64_t end_offset;    /* one past its last byte */
  uint64_t bytes;
  uint64_t lines; /* line feeds */
  int32_t end;    /* GPUHIST_WINDOW_FULL, ... */
  int32_t verified;
} gpuhist_window_info;

/* A unit. Set `size` before the call. */
typedef struct gpuhist_unit_info {
  size_t size;
  const char* input; /* its name; valid as long as the unit */
  uint64_t number;   /* in its input, from 1; of a window its index */
  uint64_t line;     /* in which it begins, from 1; 0: unknown */
  uint64_t offset;   /* of its first byte in the text of the input */
  uint64_t bytes;
  int32_t verified; /* when it was read; if not, it is verified if its input is complete. With a filter and
                       skip_damage: 0 for the units that are dropped because of damage */
  uint32_t values;  /* number of values: gpuhist_unit_value() */
  /* With jsonl_field: why the line is without field; "": it has a value, or is blank. Valid as long as the unit. */
  const char* without_field;
  uint64_t field_bytes; /* with jsonl_field: of the decoded value; 0 if there is none */
} gpuhist_unit_info;

/* The units of all inputs. Set `size` before the call. */
typedef struct gpuhist_unit_summary {
  size_t size;
  uint64_t seen;
  uint64_t bytes;    /* of all units */
  uint64_t selected; /* by `where` */
  uint64_t selected_bytes;
  uint64_t ranked;        /* number of units that gpuhist_results_ranked_unit() has */
  uint64_t ranges;        /* number of ranges that gpuhist_results_value_range() has */
  uint64_t without_value; /* units for which the formula of the distribution has no value */
  uint64_t without_field; /* lines without jsonl_field, except blank ones */
  uint64_t unverified;    /* with a filter and skip_damage: dropped because of damage */
  uint64_t unverified_bytes;
} gpuhist_unit_summary;

/* The version of the library, "0.1.0". */
GPUHIST_C_API const char* gpuhist_version(void);
/* GPUHIST_ABI_VERSION of the library. */
GPUHIST_C_API int32_t gpuhist_abi_version(void);
/* Describes the last failure of a call on this thread, in up to 511 bytes; "" if there was none. Valid until the next
 * call on this thread. */
GPUHIST_C_API const char* gpuhist_error_text(void);
/* 1: a CUDA device was lost, and the process should end by _exit(), because exit handlers may hang. Else 0. */
GPUHIST_C_API int32_t gpuhist_must_end_at_once(void);

/* Starts a counter. `options` may be null. */
GPUHIST_C_API gpuhist_status gpuhist_counter_create(const gpuhist_options* options, gpuhist_counter** made);
/* Cancels and waits for the end of all threads; in a callback of the counter it does not wait. */
GPUHIST_C_API void gpuhist_counter_destroy(gpuhist_counter* counter);
/* Calls that feed or wait then return GPUHIST_CLOSED. Also in a callback. */
GPUHIST_C_API gpuhist_status gpuhist_counter_cancel(gpuhist_counter* counter);
/* The counts of everything that was fed before the call. */
GPUHIST_C_API gpuhist_status gpuhist_counter_snapshot(gpuhist_counter* counter, gpuhist_results** made);
/* Finishes all inputs that exist. The counter can only be destroyed afterwards. */
GPUHIST_C_API gpuhist_status gpuhist_counter_finish(gpuhist_counter* counter, gpuhist_results** made);

/* An input may outlive its counter, and must be destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_input_open(gpuhist_counter* counter, const char* name, gpuhist_input** made);
/* The same with options, for compressed inputs. `options` may be null. */
GPUHIST_C_API gpuhist_status gpuhist_input_open_with(gpuhist_counter* counter, const char* name,
                                                     const gpuhist_input_options* options, gpuhist_input** made);
/* An input that was neither finished nor failed, before the counter was finished, has failed. */
GPUHIST_C_API void gpuhist_input_destroy(gpuhist_input* input);
/* The next bytes of the input. `bytes` may be null if `size` is 0. Damage of a compressed input is no failure of the
 * call: gpuhist_input_failed(). */
GPUHIST_C_API gpuhist_status gpuhist_input_feed(gpuhist_input* input, const void* bytes, size_t size);
/* As gpuhist_input_feed, without a copy where the engine permits it. `release(context)` is called once, on any thread,
 * when the bytes are no longer read, also after a failure; null: nothing is called. */
GPUHIST_C_API gpuhist_status gpuhist_input_feed_borrowed(gpuhist_input* input, const void* bytes, size_t size,
                                                         void (*release)(void* context), void* context);
/* A buffer for the next bytes of the input: `size` bytes at `bytes`, at most `wanted`. Other bytes must not be fed
 * before it is committed or destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_input_lend(gpuhist_input* input, size_t wanted, gpuhist_buffer** made,
                                                void** bytes, size_t* size);
/* The first `filled` bytes of the buffer are the next bytes of the input. Destroys the buffer, also after a failure,
 * unless `filled` is too large (GPUHIST_INVALID_ARGUMENT). */
GPUHIST_C_API gpuhist_status gpuhist_buffer_commit(gpuhist_buffer* buffer, size_t filled);
/* Returns the buffer unused. */
GPUHIST_C_API void gpuhist_buffer_destroy(gpuhist_buffer* buffer);
GPUHIST_C_API gpuhist_status gpuhist_input_finish(gpuhist_input* input);
GPUHIST_C_API gpuhist_status gpuhist_input_fail(gpuhist_input* input, const char* cause);
/* Writes 1 if a compressed input has failed, so that its bytes are ignored, else 0. */
GPUHIST_C_API gpuhist_status gpuhist_input_failed(gpuhist_input* input, int32_t* failed);

/* Counts one file or archive, as count_files of the C++ interface does, and blocks until the end; `options` may be
 * null. What keeps the file from being complete is no failure of the call, but in the result:
 * gpuhist_input_result.failure. The members of an archive are the inputs of the result. Any threads at once. A callback
 * for windows is called on the calling thread, as those for units and notices; not 0: the reading ends. A filter
 * requires gpuhist_options.on_kept. */
GPUHIST_C_API gpuhist_status gpuhist_count_file(const char* path, const gpuhist_options* options,
                                                gpuhist_results** made);

/* In a callback for windows. */
GPUHIST_C_API gpuhist_status gpuhist_window_describe(const gpuhist_window* window, gpuhist_window_info* info);
/* As gpuhist_results_counts. */
GPUHIST_C_API gpuhist_status gpuhist_window_counts(const gpuhist_window* window, const char* scheme, uint64_t* counts,
                                                   size_t room);
/* As gpuhist_results_pairs: the pairs whose second byte is in the window. */
GPUHIST_C_API gpuhist_status gpuhist_window_pairs(const gpuhist_window* window, const char* scheme, uint64_t* counts,
                                                  size_t room);

/* In on_unit, and of gpuhist_results_ranked_unit(). */
GPUHIST_C_API gpuhist_status gpuhist_unit_describe(const gpuhist_unit* unit, gpuhist_unit_info* info);
/* A name of the condition, or of the formula that the unit is ranked by, in the order of their first use, and its
 * value: NaN if it has none. The name is valid as long as the unit. */
GPUHIST_C_API gpuhist_status gpuhist_unit_value(const gpuhist_unit* unit, size_t number, const char** name,
                                                double* value);

GPUHIST_C_API void gpuhist_results_destroy(gpuhist_results* results);
/* 1: every byte of every input was counted and verified; 0: not; for null 0. */
GPUHIST_C_API int32_t gpuhist_results_complete(const gpuhist_results* results);
/* Why counting failed, for people; "": it did not fail; for null "". Valid until the results are destroyed. */
GPUHIST_C_API const char* gpuhist_results_error(const gpuhist_results* results);
/* The same as a status: GPUHIST_ENGINE, GPUHIST_OUT_OF_MEMORY, ...; GPUHIST_OK: counting did not fail, or `results` is
 * null. Failures of single inputs are in gpuhist_input_result.failure, and a cancelled counting has not failed. */
GPUHIST_C_API gpuhist_status gpuhist_results_failure(const gpuhist_results* results);
/* Of verified text. For null 0, as the following. */
GPUHIST_C_API uint64_t gpuhist_results_bytes(const gpuhist_results* results);
GPUHIST_C_API uint64_t gpuhist_results_lines(const gpuhist_results* results);
GPUHIST_C_API uint64_t gpuhist_results_unverified_bytes(const gpuhist_results* results);
GPUHIST_C_API size_t gpuhist_results_inputs(const gpuhist_results* results);
GPUHIST_C_API size_t gpuhist_results_schemes(const gpuhist_results* results);
/* The name of a scheme. Valid until the results are destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_results_scheme_name(const gpuhist_results* results, size_t scheme,
                                                         const char** name);
GPUHIST_C_API gpuhist_status gpuhist_results_input(const gpuhist_results* results, size_t number,
                                                   gpuhist_input_result* found);
/* A notice about an input: its kind, GPUHIST_NOTICE_..., and a text for people that does not name the input. Valid
 * until the results are destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_results_notice(const gpuhist_results* results, size_t number, size_t notice,
                                                    int32_t* kind, const char** text);
/* The number of buckets of a scheme. */
GPUHIST_C_API gpuhist_status gpuhist_results_buckets(const gpuhist_results* results, const char* scheme,
                                                     size_t* buckets);
/* The name of a bucket. Valid until the results are destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_results_bucket_name(const gpuhist_results* results, const char* scheme,
                                                         size_t bucket, const char** name);
/* The totals: writes one count for each bucket. `room`: the number of counts that fit; GPUHIST_INVALID_ARGUMENT if it
 * is less than the number of buckets. */
GPUHIST_C_API gpuhist_status gpuhist_results_counts(const gpuhist_results* results, const char* scheme,
                                                    uint64_t* counts, size_t room);
/* The same for one input. */
GPUHIST_C_API gpuhist_status gpuhist_results_input_counts(const gpuhist_results* results, size_t number,
                                                          const char* scheme, uint64_t* counts, size_t room);
/* The pairs of the totals: how often each bucket is followed by each bucket, as buckets x buckets counts; the first
 * byte selects the row. GPUHIST_INVALID_ARGUMENT if pairs were not counted, or if `room` is less than that. */
GPUHIST_C_API gpuhist_status gpuhist_results_pairs(const gpuhist_results* results, const char* scheme, uint64_t* counts,
                                                   size_t room);
/* The same for one input. */
GPUHIST_C_API gpuhist_status gpuhist_results_input_pairs(const gpuhist_results* results, size_t number,
                                                         const char* scheme, uint64_t* counts, size_t room);
/* The units of all inputs; of a snapshot those that were complete. GPUHIST_INVALID_ARGUMENT if none were measured. */
GPUHIST_C_API gpuhist_status gpuhist_results_units(const gpuhist_results* results, gpuhist_unit_summary* found);
/* The unit with the highest value (rank 0), the next one, ..., and its value. Valid until the results are destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_results_ranked_unit(const gpuhist_results* results, size_t rank, double* value,
                                                         const gpuhist_unit** unit);
/* A range of the distribution, lowest first, and the number of units with values from `from` on, below `to`; both are 0
 * for the value 0. */
GPUHIST_C_API gpuhist_status gpuhist_results_value_range(const gpuhist_results* results, size_t number, double* from,
                                                         double* to, uint64_t* units);
/* The result as JSON, schema gpuhist.result/1. Valid until the results are destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_results_json(const gpuhist_results* results, const char** json);

#ifdef __cplusplus
}
#endif

#endif
