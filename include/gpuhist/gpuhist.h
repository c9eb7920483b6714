/* gpuhist: exact counts of byte values by bucket. The C interface.
 *
 * Version 0: functions and fields may still change between versions of the library; gpuhist_abi_version() and the name
 * of the shared library change with them.
 *
 * Handles are opaque and are destroyed by their _destroy function, which accepts null. Every function that can fail
 * returns a gpuhist_status. After a failure, gpuhist_error_text() describes it. Strings are UTF-8 or raw bytes, end in
 * NUL, and are copied. No function writes to standard streams, changes signal dispositions, or reads the environment.
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

typedef enum gpuhist_status {
  GPUHIST_OK = 0,
  GPUHIST_INVALID_ARGUMENT = 1, /* an unknown name, a null pointer, a size that exceeds the memory limit */
  GPUHIST_MISUSE = 2,           /* feeding an input that has ended, or from two threads at once */
  GPUHIST_CLOSED = 3,           /* the counter was finished, cancelled, or stopped by a failure */
  GPUHIST_ENGINE = 4,           /* the requested engine cannot be used, or failed */
  GPUHIST_OUT_OF_MEMORY = 5,
  GPUHIST_SYSTEM = 6,           /* the system refused a resource: a thread, a file */
  GPUHIST_INTERNAL = 7          /* an exception that the library does not document */
} gpuhist_status;

typedef enum gpuhist_engine {
  GPUHIST_ENGINE_AUTOMATIC = 0, /* the host, and GPUs if the cores are saturated */
  GPUHIST_ENGINE_HOST = 1,
  GPUHIST_ENGINE_CUDA = 2
} gpuhist_engine;

typedef struct gpuhist_counter gpuhist_counter;
typedef struct gpuhist_input gpuhist_input;
typedef struct gpuhist_results gpuhist_results;

/* Set `size` to sizeof(gpuhist_options), and all other fields to zero for the defaults. */
typedef struct gpuhist_options {
  size_t size;
  const char* const* schemes; /* names or definitions; null: "classes" */
  size_t scheme_count;
  int32_t ignore_case;        /* not 0: A-Z are counted as a-z */
  int32_t byte_counts;        /* not 0: keep the counts of all 256 values */
  gpuhist_engine engine;
  uint32_t threads;           /* 0: one for each core */
  uint64_t memory_limit;      /* bytes; 0: 256 MiB */
} gpuhist_options;

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
} gpuhist_input_result;

/* The version of the library, "0.1.0". */
GPUHIST_C_API const char* gpuhist_version(void);
/* GPUHIST_ABI_VERSION of the library. */
GPUHIST_C_API int gpuhist_abi_version(void);
/* Describes the last failure of a call on this thread; "" if there was none. Valid until the next call on it. */
GPUHIST_C_API const char* gpuhist_error_text(void);

/* Starts a counter. `options` may be null. */
GPUHIST_C_API gpuhist_status gpuhist_counter_create(const gpuhist_options* options, gpuhist_counter** made);
/* Cancels and waits for the end of all threads. */
GPUHIST_C_API void gpuhist_counter_destroy(gpuhist_counter* counter);
/* Any thread may cancel: calls that feed then return GPUHIST_CLOSED. */
GPUHIST_C_API gpuhist_status gpuhist_counter_cancel(gpuhist_counter* counter);
/* The counts of everything that was fed before the call. */
GPUHIST_C_API gpuhist_status gpuhist_counter_snapshot(gpuhist_counter* counter, gpuhist_results** made);
/* Ends all inputs. The counter can only be destroyed afterwards. */
GPUHIST_C_API gpuhist_status gpuhist_counter_finish(gpuhist_counter* counter, gpuhist_results** made);

/* Any thread. An input may outlive its counter, and must be destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_input_open(gpuhist_counter* counter, const char* name, gpuhist_input** made);
GPUHIST_C_API void gpuhist_input_destroy(gpuhist_input* input);
/* The next bytes of the input. One thread at a time. `bytes` may be null if `size` is 0. */
GPUHIST_C_API gpuhist_status gpuhist_input_feed(gpuhist_input* input, const void* bytes, size_t size);
/* As gpuhist_input_feed, without a copy where the engine permits it. `release(context)` is called once, on any thread,
 * when the bytes are no longer read, also after a failure; null: nothing is called. */
GPUHIST_C_API gpuhist_status gpuhist_input_feed_borrowed(gpuhist_input* input, const void* bytes, size_t size,
                                                         void (*release)(void* context), void* context);
GPUHIST_C_API gpuhist_status gpuhist_input_finish(gpuhist_input* input);
GPUHIST_C_API gpuhist_status gpuhist_input_fail(gpuhist_input* input, const char* cause);

GPUHIST_C_API void gpuhist_results_destroy(gpuhist_results* results);
/* 1: every byte of every input was counted and verified; 0: not; for null 0. */
GPUHIST_C_API int gpuhist_results_complete(const gpuhist_results* results);
GPUHIST_C_API uint64_t gpuhist_results_bytes(const gpuhist_results* results);
GPUHIST_C_API uint64_t gpuhist_results_lines(const gpuhist_results* results);
GPUHIST_C_API size_t gpuhist_results_inputs(const gpuhist_results* results);
GPUHIST_C_API gpuhist_status gpuhist_results_input(const gpuhist_results* results, size_t number,
                                                   gpuhist_input_result* found);
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
/* The result as JSON, schema gpuhist.result/1. Valid until the results are destroyed. */
GPUHIST_C_API gpuhist_status gpuhist_results_json(gpuhist_results* results, const char** json);

#ifdef __cplusplus
}
#endif

#endif
