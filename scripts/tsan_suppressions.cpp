// Suppressions for ThreadSanitizer, linked into every program of a build with it.

/// tzset_internal: libarchive computes the local time of every member of a zip, on each thread that walks an archive.
/// glibc protects the name of the time zone by an internal lock that the sanitizer cannot see.
extern "C" __attribute__((weak, visibility("default"))) const char* __tsan_default_suppressions() {
  return "race:tzset_internal\n";
}
