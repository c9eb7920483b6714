/* Counts the letters of its standard input, with the C interface.
 *
 *     $ printf 'hello, world\n' | ./count_stdin
 *     a-d 1
 *     e-h 2
 *     i-l 3
 *     m-p 2
 *     q-t 1
 *     u-x 1
 *     y-z 0
 *     other 3
 */
#include <gpuhist/gpuhist.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void check(gpuhist_status status) {
  if (status == GPUHIST_OK) return;
  fprintf(stderr, "count_stdin: %s\n", gpuhist_error_text());
  exit(1);
}

int main(void) {
  static char text[1 << 16];
  gpuhist_options* options;
  gpuhist_counter* counter;
  gpuhist_input* input;
  gpuhist_results* results;
  size_t size, buckets;

  check(gpuhist_options_create(&options));
  check(gpuhist_options_set(options, "buckets", "letters"));
  check(gpuhist_counter_create(options, &counter));
  check(gpuhist_input_open(counter, "standard input", &input));
  while ((size = fread(text, 1, sizeof text, stdin)) > 0) check(gpuhist_input_feed(input, text, size));
  if (ferror(stdin)) check(gpuhist_input_fail(input, "a read error"));
  check(gpuhist_counter_finish(counter, &results));

  check(gpuhist_results_buckets(results, "letters", &buckets));
  uint64_t counts[256]; /* no scheme has more buckets */
  check(gpuhist_results_counts(results, "letters", counts, 256));
  for (size_t i = 0; i < buckets; ++i) {
    const char* name;
    check(gpuhist_results_bucket_name(results, "letters", i, &name));
    printf("%s %" PRIu64 "\n", name, counts[i]);
  }
  const int complete = gpuhist_results_complete(results);

  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
  gpuhist_options_destroy(options);
  return complete ? 0 : 1;
}
