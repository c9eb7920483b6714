// What ThreadSanitizer is told to pass over, built into every program of a build with it.

/// tzset_internal: libarchive asks for the local time of every member of a zip, on each thread that walks an archive.
/// glibc keeps the name of the zone under a lock of its own, made of no call that the sanitizer sees.
extern "C" __attribute__((weak)) const char* __tsan_default_suppressions() { return "race:tzset_internal\n"; }
