/* Writes the lines of a file or archive whose field "text" has at least as many letters as other bytes, with the C
 * interface. Lines with damaged text are dropped. Lines that were dropped, messages and the result are lines of JSON on
 * standard error.
 *
 *     $ printf '{"text":"alpha"}\n{"text":"4711"}\n' > docs.jsonl; ./filter_file docs.jsonl 2> log.jsonl
 *     {"text":"alpha"}
 */
#include <gpuhist/gpuhist.h>

#include <stdio.h>
#include <stdlib.h>

static void check(gpuhist_status status) {
  if (status == GPUHIST_OK) return;
  fprintf(stderr, "filter_file: %s\n", gpuhist_error_text());
  exit(1);
}

/* Not 0 ends the reading. */
static int32_t write_kept(void* context, const void* bytes, size_t size) {
  return fwrite(bytes, 1, size, context) == size ? 0 : 1;
}

static int32_t write_event(void* context, const gpuhist_event* event) {
  const char* line;
  if (gpuhist_event_kind(event) == GPUHIST_EVENT_PROGRESS) return 0;
  return gpuhist_event_json(event, &line) == GPUHIST_OK && fputs(line, context) >= 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: filter_file FILE\n");
    return 2;
  }
  gpuhist_options* options;
  gpuhist_results* results;
  const char* result;
  check(gpuhist_options_create(&options));
  check(gpuhist_options_set(options, "each", "line"));
  check(gpuhist_options_set(options, "jsonl-field", "text"));
  check(gpuhist_options_set(options, "keep-if", "upper + lower >= 0.5"));
  check(gpuhist_options_set(options, "skip-damage", "true"));
  check(gpuhist_options_on_text(options, write_kept, stdout));
  check(gpuhist_options_on_event(options, write_event, stderr));
  check(gpuhist_count_file(argv[1], options, &results));
  check(gpuhist_results_json(results, &result));
  fputs(result, stderr);
  const int complete = gpuhist_results_complete(results);
  gpuhist_results_destroy(results);
  gpuhist_options_destroy(options);
  return complete ? 0 : 1;
}
