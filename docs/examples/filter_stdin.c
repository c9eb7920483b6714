/* Writes the lines of its standard input that are not mostly digits, with the C interface, then how many it dropped,
 * and which line is the longest one.
 *
 *     $ printf 'alpha\n4711\n12\nbeta 1\n' | ./filter_stdin
 *     alpha
 *     beta 1
 *     dropped 2 of 4 lines; the longest line has 7 bytes: line 4
 */
#include <gpuhist/gpuhist.h>

#include <inttypes.h>
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

static void print_summary(const gpuhist_results* results) {
  gpuhist_unit_summary summary = {.size = sizeof summary};
  check(gpuhist_results_units(results, &summary));
  printf("dropped %" PRIu64 " of %" PRIu64 " lines", summary.selected, summary.seen);
  if (summary.ranked > 0) {
    gpuhist_unit_info info = {.size = sizeof info};
    const gpuhist_unit* longest;
    double bytes;
    check(gpuhist_results_ranked_unit(results, 0, &bytes, &longest));
    check(gpuhist_unit_describe(longest, &info));
    printf("; the longest line has %.0f bytes: line %" PRIu64, bytes, info.line);
  }
  printf("\n");
}

int main(void) {
  static char text[1 << 16];
  const gpuhist_unit_options lines = {.size = sizeof lines,
                                      .each = GPUHIST_UNIT_LINE,
                                      .where = "digit > 0.5",
                                      .top = 1,
                                      .top_by = "bytes",
                                      .filter = GPUHIST_FILTER_DROP};
  const gpuhist_options options = {.size = sizeof options, .units = &lines};
  const gpuhist_input_options kept = {.size = sizeof kept, .on_kept = write_kept, .kept_context = stdout};
  gpuhist_counter* counter;
  gpuhist_input* input;
  gpuhist_results* results;
  size_t size;

  check(gpuhist_counter_create(&options, &counter));
  check(gpuhist_input_open_with(counter, "standard input", &kept, &input));
  while ((size = fread(text, 1, sizeof text, stdin)) > 0) check(gpuhist_input_feed(input, text, size));
  if (ferror(stdin)) check(gpuhist_input_fail(input, "a read error"));
  check(gpuhist_counter_finish(counter, &results));
  print_summary(results);
  const int complete = gpuhist_results_complete(results);

  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
  return complete ? 0 : 1;
}
