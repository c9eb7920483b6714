#include "command/filter/output_folder.hpp"

#include "command/filter/text_encoder.hpp"
#include "config/text.hpp"
#include "io/file_access.hpp"
#include "report/formats/report.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;

// The next output would fail as well, so the run ends.
bool is_for_all_outputs(const std::error_code& cause) {
  return cause == std::errc::no_space_on_device || cause.value() == EDQUOT || cause == std::errc::read_only_file_system;
}

constexpr const char* appeared =
    ": another process wrote it during this run, and it is not replaced; move it, and run again with --resume";

// "out/a", and whether a link is the cause. errno stays.
std::string folder_text(const fs::path& root, const fs::path& below) {
  const int cause = errno;
  bool has_link = false;
  std::error_code ignored;
  for (fs::path each = below; !each.empty(); each = each.parent_path()) {
    has_link = has_link || fs::is_symlink(fs::symlink_status(root / each, ignored));
  }
  const std::string text = report::printable((root / below).string());
  errno = cause;
  return has_link ? text + ", because links below --output-dir are not followed" : text;
}

}  // namespace

// A failure is noted, and the rest of the text is not written; other inputs are not concerned.
class output_folder::outlet final : public report::units::kept_outlet {
 public:
  outlet(output_folder& folder, const planned_output& output) : folder_(folder), output_(output) {}

  void write(std::span<const std::byte> text) override {
    attempt([&] {
      open();
      encoder_->add(text);
    });
  }

  void end(const report::units::kept_end& found) override {
    if (found.how != pipeline::input_observer::ending::whole) return;
    if (folder_.plan_.field && folder_.plan_.field->must_exist && found.units.without_field > 0) {
      encoder_.reset();
      file_.reset();
      return folder_.note_end(output_, report::printable((folder_.folder_ / output_.name).string()) +
                                           " was not written, because " +
                                           config::number_of(found.units.without_field, "line") +
                                           " of its input lack the field (--without-field fail)");
    }
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
    } catch (const io::destination_error& error) {
      has_failed_ = true;
      encoder_.reset();
      file_.reset();
      if (is_for_all_outputs(error.code())) throw;
      const bool has_appeared = error.code() == std::errc::file_exists;
      folder_.note_end(output_, error.what() + std::string(has_appeared ? appeared : ""));
    }
  }

  void open() {
    if (encoder_) return;
    const fs::path path = folder_.folder_ / output_.name;
    const fs::path below = fs::path(output_.name).parent_path();
    io::descriptor in = io::create_folders(folder_.root_, below);
    if (!in)
      throw io::destination_error(errno, std::system_category(),
                                  "cannot create the folder " + folder_text(folder_.folder_, below));
    file_.emplace(std::move(in), path, output_.replaced ? report::writing::whole : report::writing::once);
    encoder_ = make_text_encoder(output_.compression, [this](std::string_view bytes) {
      if (!bytes.empty()) file_->write(bytes);
    });
  }

  void publish(const report::units::kept_end& found) {
    const report::units::unit_totals kept = kept_of(found.units, folder_.plan_.filter->units);
    folder_.record_.add({.name = output_.name,
                         .input = output_.input_state,
                         .output = io::state_of(file_->synchronize_text()),
                         .kept = kept.seen,
                         .kept_bytes = kept.bytes,
                         .dropped = found.units.seen - kept.seen,
                         .dropped_bytes = found.units.bytes - kept.bytes,
                         .lacks_damaged_text = found.has_gaps});
    refuse_change();
    file_->commit();
    encoder_.reset();
    file_.reset();
    folder_.note_end(output_, {});
  }

  // Of the file that is to be replaced, by another process meanwhile.
  void refuse_change() const {
    struct stat now{};
    const fs::path path = folder_.folder_ / output_.name;
    if (!output_.replaced || ::lstat(path.c_str(), &now) != 0 || io::state_of(now) == *output_.replaced) return;
    throw io::destination_error(EEXIST, std::system_category(), "cannot write " + report::printable(path.string()));
  }

  output_folder& folder_;
  const planned_output& output_;
  bool has_failed_ = false;
  std::optional<report::destination> file_;  // nothing: no text yet, or the output is finished
  std::unique_ptr<text_encoder> encoder_;
};

output_folder::output_folder(fs::path folder, std::vector<planned_output> outputs,
                             const pipeline::looked_up_inputs& found, folder_record& record,
                             const report::units::unit_plan& planned)
    : folder_(std::move(folder)),
      root_(open_output_folder(folder_)),
      outputs_(std::move(outputs)),
      record_(record),
      plan_(planned) {
  for (const planned_output& each : outputs_) by_input_.emplace(found.inputs[each.input].name, &each);
}

std::unique_ptr<report::units::kept_outlet> output_folder::open(const std::string& input) { return open_outlet(input); }

std::unique_ptr<output_folder::outlet> output_folder::open_outlet(const std::string& input) {
  return std::make_unique<outlet>(*this, *by_input_.at(input));
}

// An input without text was not observed; its output is empty.
void output_folder::note_finished(const pipeline::input_report& input) {
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

}  // namespace gpuhist::command
