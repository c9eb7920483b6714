/* Writes the lines of a file or archive whose field "text" has at least as many letters as other bytes, with the C
 * interface. Lines with damaged text are dropped, and the others are written.
 *
 *     $ printf '{"text":"alpha"}\n{"text":"4711"}\n{"title":"beta"}\n' > docs.jsonl; ./filter_file docs.jsonl
 *     {"text":"alpha"}
 *     warning: docs.jsonl: line 3 is without field 'text': no such field
 *     kept 1 of 3 lines; 0 lines with damaged text
 */
#include <gpuhist/gpuhist.h>

#include <inttypes.h>
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

static int32_t keep_notice(void* context, const char* text) {
  return fprintf(context, "%s\n", text) < 0 ? 1 : 0;
}

static int report(const gpuhist_results* results) {
  gpuhist_unit_summary lines = {.size = sizeof lines};
  check(gpuhist_results_units(results, &lines));
  printf("kept %" PRIu64 " of %" PRIu64 " lines; %" PRIu64 " lines with damaged text\n", lines.selected, lines.seen,
         lines.unverified);
  for (size_t i = 0; i < gpuhist_results_inputs(results); ++i) {
    gpuhist_input_result input = {.size = sizeof input};
    check(gpuhist_results_input(results, i, &input));
    if (!input.complete) printf("%s: %s\n", input.name, input.error);
  }
  return gpuhist_results_complete(results) ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: filter_file FILE\n");
    return 2;
  }
  FILE* const notices = tmpfile(); /* printed after the text */
  if (notices == NULL) return 1;
  const gpuhist_unit_options lines = {.size = sizeof lines,
                                      .each = GPUHIST_UNIT_LINE,
                                      .where = "upper + lower >= 0.5",
                                      .filter = GPUHIST_FILTER_KEEP,
                                      .jsonl_field = "text"};
  const gpuhist_options options = {.size = sizeof options,
                                   .temporary_folder = "/tmp",
                                   .units = &lines,
                                   .on_notice = keep_notice,
                                   .notice_context = notices,
                                   .on_kept = write_kept,
                                   .kept_context = stdout,
                                   .skip_damage = 1};
  gpuhist_results* results;
  check(gpuhist_count_file(argv[1], &options, &results));
  rewind(notices);
  for (int byte; (byte = getc(notices)) != EOF;) putchar(byte);
  const int status = report(results);
  fclose(notices);
  gpuhist_results_destroy(results);
  return status;
}
