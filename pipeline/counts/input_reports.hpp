// The inputs of a report, in order: read back one by one where they are over and were laid down, held here where not.
#pragma once

#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/input_report.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// A value whose copies share what was laid down. Reading throws std::system_error where that cannot be read back.
class input_reports {
 public:
  using value_type = input_report;

  /// One pass over all. What it gives is the iterator's own: valid until that moves on.
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = input_report;
    using difference_type = std::ptrdiff_t;

    explicit iterator(const input_reports& of) : of_(&of) { load(); }
    const input_report& operator*() const { return current_; }
    const input_report* operator->() const { return &current_; }
    iterator& operator++() {
      ++at_;
      load();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t /*end*/) const { return at_ == of_->size(); }

   private:
    void load() {
      if (at_ < of_->size()) current_ = (*of_)[at_];
    }

    const input_reports* of_;
    std::size_t at_ = 0;
    input_report current_;
  };

  input_reports() = default;

  /// The first `number` of those that were laid down.
  input_reports(std::shared_ptr<const finished_inputs> spilled, std::size_t number)
      : spilled_(std::move(spilled)), finished_(number) {}

  void push_back(input_report next) {
    rest_.push_back({.held = std::make_shared<const input_report>(std::move(next))});
  }

  /// One that was laid down, out of turn.
  void push_back(finished_inputs::location next) { rest_.push_back({.at = next}); }

  [[nodiscard]] std::size_t size() const { return finished_ + rest_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] iterator begin() const { return iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }

  /// A copy.
  [[nodiscard]] input_report operator[](std::size_t number) const;

  /// Puts another one in the place of one that is held here.
  void replace(std::size_t number, input_report by) {
    rest_.at(number - finished_).held = std::make_shared<const input_report>(std::move(by));
  }

  /// --count-unverified, for all of them.
  void count_unverified() { counts_unverified_ = true; }

 private:
  struct entry {
    finished_inputs::location at = 0;
    std::shared_ptr<const input_report> held{};  // null: laid down
  };

  std::shared_ptr<const finished_inputs> spilled_;
  std::size_t finished_ = 0;
  std::vector<entry> rest_;
  bool counts_unverified_ = false;
};

}  // namespace gpuhist::pipeline
