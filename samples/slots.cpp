// The arithmetic of binning.hpp with vectors (Google Highway). A vector gives slots, and a mask of the samples whose
// estimate is near a threshold; these few are compared with it one by one.
#include "samples/slots.hpp"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "samples/slots.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::samples {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using floats = hn::ScalableTag<float>;
using integers = hn::Rebind<std::int32_t, floats>;
using keys = hn::Rebind<std::uint32_t, floats>;

template <class Carrier>
HWY_INLINE hn::Vec<floats> keys_estimate(const binning<Carrier>& in, hn::Vec<keys> key) {
  const keys k;
  const auto clamped = hn::Min(hn::Max(key, hn::Set(k, in.low)), hn::Set(k, in.high));
  const auto difference = hn::BitCast(integers(), hn::Sub(clamped, hn::Set(k, in.centre)));
  const floats f;
  return hn::Mul(hn::Sub(hn::ConvertTo(f, difference), hn::Set(f, in.shift)), hn::Set(f, in.scale));
}

HWY_INLINE hn::Vec<floats> limited(hn::Vec<floats> raw, float ceiling) {
  const floats f;
  return hn::Max(hn::Min(raw, hn::Set(f, ceiling)), hn::Set(f, -0.5F));
}

HWY_INLINE hn::Vec<floats> estimates(const binning<std::uint32_t>& in, const std::uint32_t* values) {
  return limited(keys_estimate(in, hn::LoadU(keys(), values)), in.ceiling);
}

HWY_INLINE hn::Vec<keys> keys_of_floats(hn::Vec<floats> value) {
  const auto bits = hn::BitCast(integers(), hn::Add(value, hn::Zero(floats())));
  const auto inverted = hn::Or(hn::BroadcastSignBit(bits), hn::Set(integers(), static_cast<std::int32_t>(sign32)));
  return hn::BitCast(keys(), hn::Xor(bits, inverted));
}

HWY_INLINE hn::Vec<floats> estimates(const binning<float>& in, const float* values) {
  const floats f;
  const auto value = hn::LoadU(f, values);
  const auto raw = in.on_keys ? keys_estimate(in, keys_of_floats(value))
                              : hn::Mul(hn::Sub(value, hn::Set(f, in.origin)), hn::Set(f, in.scale));
  return hn::IfThenElse(hn::IsNaN(value), hn::Set(f, in.steps + 1.5F), limited(raw, in.ceiling));
}

// Doubles less the origin, as floats: the scalar code rounds there, too.
void differences(const binning<double>& in, const double* values, std::size_t count, float* to) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> f;
  for (std::size_t at = 0; at < count; at += hn::Lanes(d))
    hn::StoreU(hn::DemoteTo(f, hn::Sub(hn::LoadU(d, values + at), hn::Set(d, in.origin))), f, to + at);
}

HWY_INLINE hn::Vec<floats> difference_estimates(const binning<double>& in, const float* of_values) {
  const floats f;
  const auto difference = hn::LoadU(f, of_values);
  const auto raw = hn::Mul(difference, hn::Set(f, in.scale));
  return hn::IfThenElse(hn::IsNaN(difference), hn::Set(f, in.steps + 1.5F), limited(raw, in.ceiling));
}

// Compares the samples in the mask with their thresholds.
template <class Carrier>
HWY_NOINLINE void check_near(const binning<Carrier>& in, const Carrier* values, std::uint64_t near,
                             std::uint32_t* slots) {
  for (; near != 0; near &= near - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(near));
    slots[lane] = slot_of(in, values[lane]);
  }
}

template <class Carrier>
HWY_INLINE void assign_vector(const binning<Carrier>& in, const Carrier* values, hn::Vec<floats> estimated,
                              std::uint64_t present, std::uint32_t* slots) {
  const floats f;
  const integers i;
  const auto whole = hn::Round(estimated);
  const auto distance = hn::Sub(estimated, whole);
  const auto step = hn::ConvertTo(i, whole);
  const auto below = hn::RebindMask(i, hn::Lt(distance, hn::Zero(f)));
  hn::StoreU(hn::BitCast(keys(), hn::IfThenElse(below, step, hn::Add(step, hn::Set(i, 1)))), keys(), slots);
  const auto near = hn::Le(hn::Abs(distance), hn::Set(f, in.tolerance));
  if (in.tables.guide != nullptr || hn::AllFalse(f, near)) return;
  std::uint8_t bits[sizeof(std::uint64_t)] = {};
  hn::StoreMaskBits(f, near, bits);
  std::uint64_t mask = 0;
  for (std::size_t byte = 0; byte < sizeof bits; ++byte) mask |= std::uint64_t{bits[byte]} << (8 * byte);
  check_near(in, values, mask & present, slots);
}

// `estimates_at(i)`: of the samples from number i.
template <class Carrier, class EstimatesAt>
HWY_INLINE void assign_vectors(const binning<Carrier>& in, const Carrier* values, std::size_t count,
                               std::uint32_t* slots, const EstimatesAt& estimates_at) {
  const std::size_t lanes = hn::Lanes(floats());
  for (std::size_t at = 0; at < count; at += lanes) {
    const std::size_t rest = count - at;
    const std::uint64_t present = rest >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1;
    assign_vector(in, values + at, estimates_at(at), present, slots + at);
  }
  if (in.tables.guide == nullptr) return;
  for (std::size_t at = 0; at < count; ++at) slots[at] = guided_slot(in, in.tables, values[at], slots[at]);
}

void assign_keys(const binning<std::uint32_t>& in, const std::uint32_t* values, std::size_t count,
                 std::uint32_t* slots) {
  assign_vectors(in, values, count, slots, [&](std::size_t at) HWY_ATTR { return estimates(in, values + at); });
}

void assign_floats(const binning<float>& in, const float* values, std::size_t count, std::uint32_t* slots) {
  assign_vectors(in, values, count, slots, [&](std::size_t at) HWY_ATTR { return estimates(in, values + at); });
}

// Not for estimates by keys.
void assign_doubles(const binning<double>& in, const double* values, std::size_t count, std::uint32_t* slots) {
  float of_values[block_samples] = {};
  differences(in, values, count, of_values);
  assign_vectors(in, values, count, slots,
                 [&](std::size_t at) HWY_ATTR { return difference_estimates(in, of_values + at); });
}

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::samples
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::gpu::samples {
namespace {

HWY_EXPORT(assign_keys);
HWY_EXPORT(assign_floats);
HWY_EXPORT(assign_doubles);

template <class Carrier>
void assign_each(const binning<Carrier>& in, const Carrier* values, std::size_t count, std::uint32_t* slots) {
  for (std::size_t at = 0; at < count; ++at) slots[at] = slot_of(in, values[at]);
}

}  // namespace

void assign_slots(const binning<std::uint32_t>& in, const std::uint32_t* values, std::size_t count,
                  std::uint32_t* slots) {
  HWY_DYNAMIC_DISPATCH(assign_keys)(in, values, count, slots);
}

void assign_slots(const binning<float>& in, const float* values, std::size_t count, std::uint32_t* slots) {
  HWY_DYNAMIC_DISPATCH(assign_floats)(in, values, count, slots);
}

void assign_slots(const binning<std::uint64_t>& in, const std::uint64_t* values, std::size_t count,
                  std::uint32_t* slots) {
  assign_each(in, values, count, slots);
}

void assign_slots(const binning<double>& in, const double* values, std::size_t count, std::uint32_t* slots) {
  if (in.on_keys) return assign_each(in, values, count, slots);
  HWY_DYNAMIC_DISPATCH(assign_doubles)(in, values, count, slots);
}

}  // namespace gpuhist::gpu::samples
#endif  // HWY_ONCE
