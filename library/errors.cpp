#include "library/errors.hpp"

#include "config/usage_error.hpp"
#include "gpu/engines.hpp"
#include "gpu/process_end.hpp"
#include "pipeline/counts/spilled_bytes.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/fed_inputs.hpp"

#include <new>
#include <stdexcept>
#include <system_error>

namespace gpuhist {

void rethrow_as_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const error&) {
    throw;
  } catch (const config::usage_error& refused) {
    throw error(errc::invalid_argument, refused.what());
  } catch (const pipeline::feed_misuse& misuse) {
    throw error(errc::misuse, misuse.what());
  } catch (const pipeline::feed_closed& closed) {
    throw error(errc::closed, closed.what());
  } catch (const pipeline::text_lost& lost) {
    throw error(errc::out_of_memory, lost.what());
  } catch (const gpu::engine_error& failed) {
    throw error(errc::engine, failed.what());
  } catch (const std::bad_alloc&) {
    throw error(errc::out_of_memory, "not enough memory");
  } catch (const std::system_error& refused) {
    throw error(errc::system, refused.what());
  } catch (const pipeline::spill_error& refused) {
    throw error(errc::system, refused.what());
  } catch (const pipeline::unclean_end& ended) {
    rethrow_as_error(ended.cause());
  } catch (const std::length_error&) {
    throw error(errc::out_of_memory, "a size exceeds what a container can hold");
  } catch (const std::exception& unexpected) {
    throw error(errc::internal, unexpected.what());
  } catch (...) {
    throw error(errc::internal, "an exception of an unknown type");
  }
}

errc kind_of(const std::exception_ptr& thrown) noexcept {
  try {
    rethrow_as_error(thrown);
  } catch (const error& translated) {
    return translated.kind();
  } catch (...) {
    return errc::out_of_memory;  // for the error itself
  }
}

bool must_end_at_once() noexcept { return gpu::must_end_at_once(); }

}  // namespace gpuhist
