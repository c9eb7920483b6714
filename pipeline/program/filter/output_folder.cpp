#include "pipeline/program/filter/output_folder.hpp"

#include "pipeline/program/filter/text_encoder.hpp"
#include "pipeline/report/formats/report.hpp"

#include <cerrno>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

// The next output would fail as well, so the run ends.
bool is_for_all_outputs(const std::error_code& cause) {
  return cause == std::errc::no_space_on_device || cause.value() == EDQUOT || cause == std::errc::read_only_file_system;
}

void create_folder_of(const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) throw destination_error(error, "cannot create the folder " + printable(file.parent_path().string()));
}

}  // namespace

// A failure is noted, and the rest of the text is not written; other inputs are not concerned.
class output_folder::outlet final : public units::kept_outlet {
 public:
  outlet(output_folder& folder, const planned_output& output) : folder_(folder), output_(output) {}

  void write(std::span<const std::byte> text) override {
    attempt([&] {
      open();
      encoder_->add(text);
    });
  }

  void end(const units::kept_end& found) override {
    if (found.how != input_observer::ending::whole) return;
    attempt([&] {
      open();
      encoder_->end();
      publish(found);
    });
  }

 private:
  template <typename Call>
  void attempt(Call call) {
    if (has_failed_) return;
    try {
      call();
    } catch (const destination_error& error) {
      has_failed_ = true;
      encoder_.reset();
      file_.reset();
      if (is_for_all_outputs(error.code())) throw;
      folder_.note_end(output_, error.what());
    }
  }

  void open() {
    if (encoder_) return;
    const fs::path path = folder_.folder_ / output_.name;
    create_folder_of(path);
    file_.emplace(path.string(), writing::whole);
    encoder_ = make_text_encoder(output_.compression, [this](std::string_view bytes) {
      if (!bytes.empty()) file_->write(bytes);
    });
  }

  void publish(const units::kept_end& found) {
    const units::unit_totals kept = kept_of(found.units, folder_.kept_);
    folder_.record_.add({.name = output_.name,
                         .input = output_.input_state,
                         .output = state_of(file_->synchronize_text()),
                         .kept = kept.seen,
                         .kept_bytes = kept.bytes,
                         .dropped = found.units.seen - kept.seen,
                         .dropped_bytes = found.units.bytes - kept.bytes,
                         .lacks_damaged_text = found.has_gaps});
    file_->commit();
    encoder_.reset();
    file_.reset();
    folder_.note_end(output_, {});
  }

  output_folder& folder_;
  const planned_output& output_;
  bool has_failed_ = false;
  std::optional<destination> file_;  // nothing: no text yet, or the output is finished
  std::unique_ptr<text_encoder> encoder_;
};

output_folder::output_folder(fs::path folder, std::vector<planned_output> outputs, const looked_up_inputs& found,
                             folder_record& record, units::filtering::kept kept)
    : folder_(std::move(folder)), outputs_(std::move(outputs)), record_(record), kept_(kept) {
  for (const planned_output& each : outputs_) by_input_.emplace(found.inputs[each.input].name, &each);
}

std::unique_ptr<units::kept_outlet> output_folder::open(const std::string& input) { return open_outlet(input); }

std::unique_ptr<output_folder::outlet> output_folder::open_outlet(const std::string& input) {
  return std::make_unique<outlet>(*this, *by_input_.at(input));
}

// An input without text was not observed; its output is empty.
void output_folder::note_finished(const input_report& input) {
  const auto found = by_input_.find(input.name);
  if (!input.complete || found == by_input_.end()) return;
  if (input.verified.bytes() + input.unverified.bytes() > 0) return;
  {
    const std::scoped_lock lock(mutex_);
    if (finished_.contains(found->second)) return;
  }
  open_outlet(input.name)->end({});
}

std::size_t output_folder::written() const {
  const std::scoped_lock lock(mutex_);
  return finished_.size() - failures_.size();
}

std::vector<std::string> output_folder::failures() const {
  const std::scoped_lock lock(mutex_);
  return failures_;
}

void output_folder::note_end(const planned_output& output, const std::string& failure) {
  const std::scoped_lock lock(mutex_);
  finished_.insert(&output);
  if (!failure.empty()) failures_.push_back(failure);
}

}  // namespace gpuhist::pipeline
