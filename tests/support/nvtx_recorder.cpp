// A profiler in a few lines, for tests: a library that NVTX loads (NVTX_INJECTION64_PATH). Appends a line for each
// begin and end of a range to the file that RECORDED_RANGES names: "thread + name" or "thread -".
#include <nvtx3/nvToolsExt.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

int record(const std::string& what) {
  static const int file = ::open(std::getenv("RECORDED_RANGES"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = std::to_string(::gettid()) + " " + what + "\n";
  return ::write(file, line.data(), line.size()) < 0 ? -1 : 0;
}

// Of nvtxDomainCreateA: any handle but null.
nvtxDomainHandle_t NVTX_API begin_domain(const char* name) {
  static std::string kept = name;
  return reinterpret_cast<nvtxDomainHandle_t>(kept.data());
}

int NVTX_API begin_range(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  return record(std::string("+ ") + reinterpret_cast<const char*>(domain) + ": " + range->message.ascii);
}

int NVTX_API end_range(nvtxDomainHandle_t /*domain*/) { return record("-"); }

template <typename Function>
void take_over(NvtxFunctionTable table, unsigned size, unsigned which, Function call) {
  if (which < size) *table[which] = reinterpret_cast<NvtxFunctionPointer>(call);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  take_over(table, size, NVTX_CBID_CORE2_DomainCreateA, begin_domain);
  take_over(table, size, NVTX_CBID_CORE2_DomainRangePushEx, begin_range);
  take_over(table, size, NVTX_CBID_CORE2_DomainRangePop, end_range);
  return 1;
}
