/* gpuhist: exact counts of byte values by bucket. The C interface.
 *
 * Version 0: functions may still change between versions of the library; gpuhist_abi_version() and the name of the
 * shared library change with them.
 *
 * Handles are opaque and are destroyed by their _destroy function, which accepts null. Every function that can fail
 * returns a gpuhist_status. After a failure, gpuhist_error_text() describes it; options are named as on the command
 * line (--threads). Strings are UTF-8 or raw bytes, end in NUL, and are copied. No function writes to standard streams,
 * changes signal dispositions, or reads the environment.
 *
 * gpuhist_input_options, the only structure, begins with its size, which the caller sets. A field that the library does
 * not know, because the caller was compiled with a newer header, must be zero, else GPUHIST_INVALID_ARGUMENT. Fields
 * that the caller does not know have their defaults. The structure has no padding.
 *
 * Threads: functions of a counter may be called by any threads at once. Options, an input, and a buffer lent for it,
 * are used by one thread at a time; a second one that uses an input gets GPUHIST_MISUSE. Functions with const handles
 * may be called by any threads at once, except those of events. A _destroy function is the last call with its handle.
 * Functions block, and call back on other threads: a binding for Python must not hold the lock of the interpreter while
 * it calls them (ctypes releases it).
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
  GPUHIST_CALLBACK = 8  /* a callback of the caller threw an exception: on_event, on_text or on_kept, which ends
                         * gpuhist_counter_finish() or gpuhist_count_file(); or `release`, then of
                         * gpuhist_results_failure() */
};

/* gpuhist_event_kind() */
enum {
  GPUHIST_EVENT_WINDOW = 1,  /* every window of the text, in their order, as soon as it has closed */
  GPUHIST_EVENT_VERDICT = 2, /* on windows that were not verified when they closed */
  GPUHIST_EVENT_UNIT = 3,   /* every unit that "where" selects, with "keep-if" and "drop-if" every one that is not kept;
                             * those of an input in order */
  GPUHIST_EVENT_ALERT = 4,  /* a condition of "fail-if" or "alert-if" that holds */
  GPUHIST_EVENT_NOTICE = 5, /* a message for people: an input that was fed and has failed, when it and all inputs that
                             * were opened before have ended; the first line without "jsonl-field" of each input */
  /* Only of gpuhist_count_file(): */
  GPUHIST_EVENT_SNAPSHOT = 6, /* the counts so far: "snapshot-every" */
  GPUHIST_EVENT_INPUT = 7,    /* every input as soon as it and all inputs before it have ended */
  GPUHIST_EVENT_PROGRESS = 8  /* twice a second */
};

typedef struct gpuhist_options gpuhist_options;
typedef struct gpuhist_event gpuhist_event;
typedef struct gpuhist_counter gpuhist_counter;
typedef struct gpuhist_input gpuhist_input;
typedef struct gpuhist_buffer gpuhist_buffer;
typedef struct gpuhist_results gpuhist_results;

/* How the bytes of an input are read. Set `size`, and all other fields to zero for bytes that are the text. */
typedef struct gpuhist_input_options {
  size_t size;
  const char* format;  /* "zstd", "gzip", ...; "": the first bytes decide; null or "raw": the bytes are the text */
  uint64_t max_output; /* most bytes of text of a compressed input; 0: unlimited */
  /* With the option "keep-if" or "drop-if", and only then: receives the text of the units that are kept, in order, on
   * the thread that feeds, finishes or fails the input, or finishes the counter, within that call. The bytes are valid
   * during the call. Calls with the counter and its inputs return GPUHIST_MISUSE, except gpuhist_counter_cancel. Not 0:
   * the counter is cancelled. */
  int32_t (*on_kept)(void* context, const void* bytes, size_t size);
  void* kept_context;
} gpuhist_input_options;

/* The version of the library, "0.1.0". */
GPUHIST_C_API const char* gpuhist_version(void);
/* GPUHIST_ABI_VERSION of the library. */
GPUHIST_C_API int32_t gpuhist_abi_version(void);
/* Describes the last failure of a call on this thread, in up to 511 bytes; "" if there was none. Valid until the next
 * call on this thread. */
GPUHIST_C_API const char* gpuhist_error_text(void);
/* 1: a CUDA device was lost, and the process should end by _exit(), because exit handlers may hang. Else 0. */
GPUHIST_C_API int32_t gpuhist_must_end_at_once(void);

GPUHIST_C_API gpuhist_status gpuhist_options_create(gpuhist_options** made);
/* Sets an option by its name and text, as on the command line and in a job file: ("memory-limit", "1GiB"). Repeated
 * values of a list are added ("buckets", "fail-if", ...); otherwise the last one holds. A flag takes "true" or "false".
 * GPUHIST_INVALID_ARGUMENT for an unknown name and for a value that is refused. */
GPUHIST_C_API gpuhist_status gpuhist_options_set(gpuhist_options* options, const char* name, const char* value);
/* Receives the events: of a counter on a thread of its own, of gpuhist_count_file() on the calling thread, one call at
 * a time. The event is valid during the call. Not 0: the counter is cancelled, or the reading ends. Calls with the
 * counter and its inputs return GPUHIST_MISUSE, except gpuhist_counter_cancel. Calls that feed or end an input may wait
 * for it, so it must not wait for anything that such a caller holds. Null: no events. */
GPUHIST_C_API gpuhist_status gpuhist_options_on_event(gpuhist_options* options,
                                                      int32_t (*on_event)(void* context, const gpuhist_event* event),
                                                      void* context);
/* Only for gpuhist_count_file(), with the option "keep-if", "drop-if" or "pass-through", which require it: receives the
 * text that is kept, or the bytes that are passed through, in order, on a thread of the run, one call at a time. The
 * bytes are valid during the call. Not 0: the reading ends, and it is not called again. (Of inputs that are fed:
 * gpuhist_input_options.on_kept.) Null: nothing is received. */
GPUHIST_C_API gpuhist_status gpuhist_options_on_text(gpuhist_options* options,
                                                     int32_t (*on_text)(void* context, const void* bytes, size_t size),
                                                     void* context);
/* The options may be destroyed while counters that were made with them exist. */
GPUHIST_C_API void gpuhist_options_destroy(gpuhist_options* options);
/* The names of all options, numbered from 0 in the order of `gpuhist --help all`; null at the end. Valid until the
 * process ends. */
GPUHIST_C_API const char* gpuhist_option_name(size_t number);

/* In on_event. GPUHIST_EVENT_...; for null 0. */
GPUHIST_C_API int32_t gpuhist_event_kind(const gpuhist_event* event);
/* The event as a line of JSON, schema gpuhist.result/1, as `gpuhist --format jsonl` writes it, without `run` and
 * `counted_with`. A notice has the member `text`; progress `source_bytes`, `text_bytes` and `elapsed_seconds`. Valid
 * during the call. */
GPUHIST_C_API gpuhist_status gpuhist_event_json(const gpuhist_event* event, const char** json);
/* The counts of a window, snapshot or input, as gpuhist_results_counts. Of other events GPUHIST_INVALID_ARGUMENT. */
GPUHIST_C_API gpuhist_status gpuhist_event_counts(const gpuhist_event* event, const char* scheme, uint64_t* counts,
                                                  size_t room);
/* The same as gpuhist_results_pairs. Of a window: the pairs whose second byte is in it. */
GPUHIST_C_API gpuhist_status gpuhist_event_pairs(const gpuhist_event* event, const char* scheme, uint64_t* counts,
                                                 size_t room);

/* Starts a counter. `options` may be null: the defaults. GPUHIST_INVALID_ARGUMENT for options that only
 * gpuhist_count_file() has. */
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
 * null. What keeps the file from being complete is no failure of the call, but in the result: `error_kind` and `error`
 * of the inputs in gpuhist_results_json(). The members of an archive are the inputs of the result. Any threads at
 * once. */
GPUHIST_C_API gpuhist_status gpuhist_count_file(const char* path, const gpuhist_options* options,
                                                gpuhist_results** made);

GPUHIST_C_API void gpuhist_results_destroy(gpuhist_results* results);
/* 1: every byte of every input was counted and verified; 0: not; for null 0. */
GPUHIST_C_API int32_t gpuhist_results_complete(const gpuhist_results* results);
/* Why counting failed, for people; "": it did not fail; for null "". Valid until the results are destroyed. */
GPUHIST_C_API const char* gpuhist_results_error(const gpuhist_results* results);
/* The same as a status: GPUHIST_ENGINE, GPUHIST_OUT_OF_MEMORY, ...; GPUHIST_OK: counting did not fail, or `results` is
 * null. Failures of single inputs are in the JSON, and a cancelled counting has not failed. */
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
/* The result as JSON, schema gpuhist.result/1: also the names, failures and notices of the inputs, and what was
 * measured of units (docs/output.md). Valid until the results are destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_results_json(const gpuhist_results* results, const char** json);

#ifdef __cplusplus
}
#endif

#endif
