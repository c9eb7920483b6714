#include "gpu/stage_range.hpp"

#if defined(GPUHIST_HAVE_NVTX)

#include <nvtx3/nvToolsExt.h>

namespace gpuhist::gpu {
namespace {

// NVTX keeps a domain until the process ends. Null without a profiler.
nvtxDomainHandle_t domain() noexcept {
  static const nvtxDomainHandle_t created = nvtxDomainCreateA("gpuhist");
  return created;
}

}  // namespace

stage_range::stage_range(const char* name) noexcept {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &range);
}

stage_range::~stage_range() { nvtxDomainRangePop(domain()); }

}  // namespace gpuhist::gpu

#else

namespace gpuhist::gpu {

stage_range::stage_range(const char* /*name*/) noexcept {}
stage_range::~stage_range() = default;

}  // namespace gpuhist::gpu

#endif
