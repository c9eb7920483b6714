// An engine for tests of the pipeline: counts with a plain loop on a thread of its own, and completes its jobs in
// random order. One job can be chosen to fail.
#pragma once

#include "gpu/engine.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::test {

class shuffling_engine : public gpu::engine {
 public:
  explicit shuffling_engine(const gpu::row_layout& rows, unsigned seed = 1,
                            std::optional<std::uint64_t> failing_job = {})
      : rows_(rows),
        random_(seed),
        failing_job_(failing_job),
        worker_([this](const std::stop_token& stop) { work(stop); }) {}

  std::string_view name() const override { return "shuffling"; }
  const gpu::row_layout& layout() const override { return rows_; }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override {}

  void submit(gpu::counting_job& job) override {
    {
      const std::scoped_lock lock(mutex_);
      pending_.emplace_back(&job, submitted_++);
    }
    changed_.notify_one();
  }

  gpu::engine_stats stats() const override { return {}; }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !pending_.empty(); })) {
      std::swap(pending_[random_() % pending_.size()], pending_.back());
      const auto [job, number] = pending_.back();
      pending_.pop_back();
      lock.unlock();
      if (number == failing_job_) {
        job->on_complete(*job, std::make_exception_ptr(std::runtime_error("the device fell off the bus")));
      } else {
        count(*job);
        job->on_complete(*job, nullptr);
      }
      lock.lock();
    }
  }

  void count(gpu::counting_job& job) const {
    std::fill(job.rows.begin(), job.rows.end(), 0U);
    for (std::size_t i = 0; i < job.extents.size(); ++i) {
      for (std::size_t at = job.extents[i].begin; at < job.extents[i].end; ++at) {
        std::uint32_t* const row = job.rows.data() + i * rows_.columns();
        ++row[rows_.counted.class_of[std::to_integer<std::size_t>(job.bytes[at])]];
        if (rows_.pairs && at > job.extents[i].begin) ++row[pair_column(job.bytes[at - 1], job.bytes[at])];
      }
      write_edges(job, i);
    }
  }

  std::size_t pair_column(std::byte first, std::byte second) const {
    const auto class_of = [&](std::byte value) { return rows_.pairs->class_of[std::to_integer<std::size_t>(value)]; };
    return rows_.pairs_at() + class_of(first) * rows_.pair_classes() + class_of(second);
  }

  void write_edges(gpu::counting_job& job, std::size_t i) const {
    if (!rows_.pairs) return;
    const auto text = job.bytes.subspan(job.extents[i].begin, job.extents[i].size());
    job.rows[i * rows_.columns() + rows_.edges_at()] = gpu::edges_of(text, *rows_.pairs);
  }

  gpu::row_layout rows_;
  std::mt19937 random_;
  std::optional<std::uint64_t> failing_job_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::pair<gpu::counting_job*, std::uint64_t>> pending_;
  std::uint64_t submitted_ = 0;
  std::jthread worker_;  // last: it uses all members above
};

}  // namespace gpuhist::test
