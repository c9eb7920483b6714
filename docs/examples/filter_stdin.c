/* Writes the lines of its standard input that are not mostly digits, with the C interface, and the others as JSON, with
 * their place, to standard error.
 *
 *     $ printf 'alpha\n4711\n12\nbeta 1\n' | ./filter_stdin 2> dropped.jsonl
 *     alpha
 *     beta 1
 *     dropped 2 lines
 */
#include <gpuhist/gpuhist.h>

#include <stdio.h>
#include <stdlib.h>

static void check(gpuhist_status status) {
  if (status == GPUHIST_OK) return;
  fprintf(stderr, "filter_stdin: %s\n", gpuhist_error_text());
  exit(1);
}

/* Not 0 ends the counting. */
static int32_t write_kept(void* context, const void* bytes, size_t size) {
  return fwrite(bytes, 1, size, context) == size ? 0 : 1;
}

static int32_t list_dropped(void* dropped, const gpuhist_event* event) {
  const char* line;
  if (gpuhist_event_kind(event) != GPUHIST_EVENT_UNIT) return 0;
  if (gpuhist_event_json(event, &line) != GPUHIST_OK) return 1;
  ++*(unsigned long*)dropped;
  return fputs(line, stderr) < 0 ? 1 : 0;
}

int main(void) {
  static char text[1 << 16];
  const gpuhist_input_options kept = {.size = sizeof kept, .on_kept = write_kept, .kept_context = stdout};
  unsigned long dropped = 0;
  gpuhist_options* options;
  gpuhist_counter* counter;
  gpuhist_input* input;
  gpuhist_results* results;
  size_t size;

  check(gpuhist_options_create(&options));
  check(gpuhist_options_set(options, "drop-if", "digit > 0.5"));
  check(gpuhist_options_on_event(options, list_dropped, &dropped));
  check(gpuhist_counter_create(options, &counter));
  check(gpuhist_input_open_with(counter, "standard input", &kept, &input));
  while ((size = fread(text, 1, sizeof text, stdin)) > 0) check(gpuhist_input_feed(input, text, size));
  if (ferror(stdin)) check(gpuhist_input_fail(input, "a read error"));
  check(gpuhist_counter_finish(counter, &results));
  printf("dropped %lu lines\n", dropped);
  const int complete = gpuhist_results_complete(results);

  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
  gpuhist_options_destroy(options);
  return complete ? 0 : 1;
}
