// An abstract model of who waits for what while frames are decoded side by side, small enough to be explored in every
// interleaving. The rules of pipeline/decoding/compressed_inputs, block_reader, decode_contexts, cutter and collector
// stand here in one place: each step below is what one coroutine does between two waits.
//
// Threads are no part of it, because nobody who waits holds one. Chunks of a cutter come back from the engine in any
// order, but its slots are freed in order: so the freeing of its oldest one is all that is to be seen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace gpuhist::test {

/// Compressed bytes of one group within one block, and what they become.
struct model_piece {
  int group = 0;              ///< of its input, from 0 on, none left out
  int text = 0;               ///< units of text; a slot holds `chunk` of them
  bool large_window = false;  ///< a frame that needs one begins in it
};

/// Blocks of one input, each with the groups it has bytes of.
using model_input = std::vector<std::vector<model_piece>>;

struct model_rules {
  int slots = 2;
  int decoders = 1;
  int chunk = 2;
  int own_blocks = 2;
  int extra_blocks = 0;
  int open_inputs = 2;
  int large_windows = 1;                   ///< at once
  bool window_only_with_all_bytes = true;  ///< or as the last group that runs of its input
  int groups_ahead = 4;                    ///< running groups of an input at the most, a decoder
  int plain_text = 0;                      ///< units of text that need no decoder, through a cutter of their own
};

class admission_model {
 public:
  admission_model(const model_rules& rules, const std::vector<model_input>& inputs) : rules_(rules) {
    for (const model_input& each : inputs) {
      int groups = 0;
      for (const auto& block : each) {
        for (const model_piece& piece : block) groups = std::max(groups, piece.group + 1);
      }
      start_.inputs.push_back({.groups = std::vector<group>(static_cast<std::size_t>(groups))});
    }
    shapes_ = inputs;
    start_.cutters.resize(static_cast<std::size_t>(rules.decoders) + (rules.plain_text > 0 ? 1 : 0));
    start_.plain_left = static_cast<std::int8_t>(rules.plain_text);
  }

  /// Visits every state that can come about. False where one of them has work left and no step.
  bool always_ends() {
    std::unordered_set<std::string> seen;
    std::vector<state> todo{start_};
    while (!todo.empty()) {
      const state now = std::move(todo.back());
      todo.pop_back();
      successors_.clear();
      one_is_enough_ = false;
      add_steps(now);
      states_ = seen.size();
      if (successors_.empty() && !is_finished(now)) return false;
      for (state& next : successors_) {
        if (seen.insert(key(next)).second) todo.push_back(std::move(next));
      }
    }
    return true;
  }

  [[nodiscard]] std::size_t states() const { return states_; }

 private:
  using number = std::int8_t;

  struct group {
    number context = -1;  // while it runs
    number pushed = 0;    // pieces
    number done = 0;
    number text_left = -1;  // of the piece being decoded; -1: none is
    bool begun = false, closed = false, ended = false, window = false;
  };
  struct input {
    bool open = false, ends = false, waits_for_own = false;  // `ends`: the end was read, and all groups are closed
    number read = 0, split = 0, piece = 0, forgotten = 0;    // blocks; pieces of the block `split`; groups
    std::vector<number> extra{};                             // by block: whether it is an extra one
    std::vector<group> groups{};
  };
  struct cutter {
    number used = -1;  // of the slot that is not sealed; -1: there is none
    number counting = 0;
    bool busy = false;
  };
  struct state {
    std::vector<input> inputs{};
    std::vector<cutter> cutters{};
    number plain_left = 0;
  };

  static std::string key(const state& it) {
    std::string out;
    const auto put = [&](auto... values) { (out.push_back(static_cast<char>(values)), ...); };
    for (const input& in : it.inputs) {
      put(in.open, in.ends, in.waits_for_own, in.read, in.split, in.piece, in.forgotten);
      for (const number each : in.extra) put(each);
      for (const group& g : in.groups)
        put(g.context, g.pushed, g.done, g.text_left, g.begun, g.closed, g.ended, g.window);
    }
    for (const cutter& each : it.cutters) put(each.used, each.counting, each.busy);
    put(it.plain_left);
    return out;
  }

  static bool all_ended(const input& in) { return std::ranges::all_of(in.groups, &group::ended); }
  static bool is_finished(const input& in) { return in.ends && all_ended(in); }
  static bool is_finished(const state& it) {
    return it.plain_left == 0 && std::ranges::all_of(it.inputs, [](const input& in) { return is_finished(in); });
  }

  // A block is on loan until the splitter and the decoder of each of its pieces are done with it.
  [[nodiscard]] bool on_loan(const model_input& shape, const input& in, int block) const {
    if (block >= in.split) return true;
    std::vector<int> before(in.groups.size());
    for (int each = 0; each <= block; ++each) {
      for (const model_piece& piece : shape[static_cast<std::size_t>(each)]) {
        const auto g = static_cast<std::size_t>(piece.group);
        if (before[g]++ >= in.groups[g].done && each == block) return true;
      }
    }
    return false;
  }
  [[nodiscard]] int blocks_on_loan(const state& it, std::size_t i, bool extra) const {
    int count = 0;
    const input& in = it.inputs[i];
    for (int block = 0; block < static_cast<int>(in.extra.size()); ++block)
      count += (in.extra[static_cast<std::size_t>(block)] != 0) == extra && on_loan(shapes_[i], in, block) ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool slot_is_free(const state& it) const {
    int taken = 0;
    for (const cutter& each : it.cutters) taken += each.counting + (each.used >= 0 ? 1 : 0);
    return taken < rules_.slots;
  }
  template <typename F>
  void step(const state& from, F change) {
    if (one_is_enough_) return;
    successors_.push_back(from);
    change(successors_.back());
  }

  // A step that nobody can take away, and that takes nothing from anybody: whether it comes now or later is the same to
  // all others, so that no other order of it needs a visit.
  template <typename F>
  void step_at_once(const state& from, F change) {
    if (one_is_enough_) return;
    successors_.clear();
    step(from, change);
    one_is_enough_ = true;
  }

  void add_steps(const state& it) {
    for (std::size_t i = 0; i < it.inputs.size(); ++i) {
      open(it, i);
      if (!it.inputs[i].open) continue;
      read(it, i);
      split(it, i);
      for (std::size_t g = 0; g < it.inputs[i].groups.size(); ++g) decode(it, i, g);
    }
    for (std::size_t c = 0; c < it.cutters.size(); ++c) {  // the engine is done with its oldest chunk
      if (it.cutters[c].counting > 0) step_at_once(it, [c](state& next) { --next.cutters[c].counting; });
    }
    if (it.plain_left > 0) write(it, it.cutters.size() - 1, [](state& to) -> number& { return to.plain_left; });
  }

  void open(const state& it, std::size_t i) {
    const auto open = std::ranges::count_if(it.inputs, [](const input& in) { return in.open && !is_finished(in); });
    const bool is_next = !it.inputs[i].open && (i == 0 || it.inputs[i - 1].open);
    if (is_next && open < rules_.open_inputs) step(it, [i](state& next) { next.inputs[i].open = true; });
  }

  // Takes an own block, else an extra one where there are several groups, else waits for an own one and no other. The
  // end of the input is found with a block in hand, too.
  void read(const state& it, std::size_t i) {
    const input& in = it.inputs[i];
    const auto blocks = static_cast<int>(shapes_[i].size());
    if (in.read > blocks) return;
    const bool own = blocks_on_loan(it, i, false) < rules_.own_blocks;
    int extras = rules_.extra_blocks;
    for (std::size_t each = 0; each < it.inputs.size(); ++each) extras -= blocks_on_loan(it, each, true);
    const bool extra = !own && !in.waits_for_own && extras > 0 && in.groups.size() > 1 && in.groups[1].begun;
    if (!own && !extra) {
      if (!in.waits_for_own) step(it, [i](state& next) { next.inputs[i].waits_for_own = true; });
      return;
    }
    step(it, [i, extra, blocks](state& next) {
      input& to = next.inputs[i];
      to.waits_for_own = false;
      if (to.read++ < blocks) to.extra.push_back(extra ? 1 : 0);
    });
  }

  void split(const state& it, std::size_t i) {
    const input& in = it.inputs[i];
    const auto blocks = static_cast<int>(shapes_[i].size());
    if (in.split == blocks) {
      if (in.read > blocks && !in.ends) {
        step(it, [i](state& next) {
          next.inputs[i].ends = true;
          for (group& each : next.inputs[i].groups) each.closed = true;
        });
      }
      return;
    }
    if (in.split >= in.read) return;
    const auto& block = shapes_[i][static_cast<std::size_t>(in.split)];
    const auto g = static_cast<std::size_t>(block[static_cast<std::size_t>(in.piece)].group);
    if (!in.groups[g].begun) return begin_group(it, i, g);
    const bool closes = in.groups[g].pushed + 1 == pieces_of(i, g) && g + 1 < in.groups.size();
    step(it, [i, g, closes, last = static_cast<int>(block.size()) - 1](state& next) {
      input& to = next.inputs[i];
      ++to.groups[g].pushed;
      to.groups[g].closed = closes;  // the last one learns from the end of the input that it has all
      if (to.piece++ == last) ++to.split, to.piece = 0;
    });
  }

  void begin_group(const state& it, std::size_t i, std::size_t g) {
    const input& in = it.inputs[i];
    if (static_cast<int>(g) - in.forgotten >= rules_.groups_ahead * rules_.decoders) {
      if (in.groups[static_cast<std::size_t>(in.forgotten)].ended)
        step_at_once(it, [i](state& next) { ++next.inputs[i].forgotten; });
      return;
    }
    for (std::size_t c = 0; c < static_cast<std::size_t>(rules_.decoders); ++c) {
      if (it.cutters[c].busy) continue;
      step(it, [i, g, c](state& next) {
        input& to = next.inputs[i];
        to.groups[g].begun = next.cutters[c].busy = true;
        to.groups[g].context = static_cast<number>(c);
      });
    }
  }

  void decode(const state& it, std::size_t i, std::size_t g) {
    const group& task = it.inputs[i].groups[g];
    if (!task.begun || task.ended) return;
    if (task.text_left >= 0) return decode_piece(it, i, g);
    if (task.done < task.pushed) {
      const auto text = static_cast<number>(piece_of(i, g, task.done).text);
      step_at_once(it, [i, g, text](state& next) { next.inputs[i].groups[g].text_left = text; });
    } else if (task.closed) {
      step_at_once(it, [i, g](state& next) {
        group& to = next.inputs[i].groups[g];
        to.ended = true;
        to.window = false;
        next.cutters[static_cast<std::size_t>(to.context)].busy = false;
      });
    }
  }

  // A place in a slot first, then the window, then text; a slot that gets full is sealed, and the next one is needed to
  // see that there is no more.
  void decode_piece(const state& it, std::size_t i, std::size_t g) {
    const group& task = it.inputs[i].groups[g];
    const auto c = static_cast<std::size_t>(task.context);
    if (it.cutters[c].used >= 0 && piece_of(i, g, task.done).large_window && !task.window) {
      if (window_is_free(it, i, g)) step(it, [i, g](state& next) { next.inputs[i].groups[g].window = true; });
    } else if (it.cutters[c].used >= 0 && task.text_left == 0) {
      step(it, [i, g](state& next) {
        next.inputs[i].groups[g].text_left = -1;
        ++next.inputs[i].groups[g].done;
      });
    } else {
      write(it, c, [i, g](state& to) -> number& { return to.inputs[i].groups[g].text_left; });
    }
  }

  [[nodiscard]] bool window_is_free(const state& it, std::size_t i, std::size_t g) const {
    int taken = 0;
    for (const input& in : it.inputs) taken += static_cast<int>(std::ranges::count_if(in.groups, &group::window));
    const std::vector<group>& groups = it.inputs[i].groups;
    const bool is_last = std::all_of(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(g),
                                     [](const group& older) { return older.ended; });
    return taken < rules_.large_windows && (!rules_.window_only_with_all_bytes || groups[g].closed || is_last);
  }

  template <typename F>
  void write(const state& it, std::size_t c, F left) {
    if (it.cutters[c].used < 0) {
      if (slot_is_free(it)) step(it, [c](state& next) { next.cutters[c].used = 0; });
      return;
    }
    step_at_once(it, [this, c, left](state& next) {
      cutter& cut = next.cutters[c];
      const auto some = static_cast<number>(std::min<int>(left(next), rules_.chunk - cut.used));
      left(next) = static_cast<number>(left(next) - some);
      cut.used = static_cast<number>(cut.used + some);
      if (cut.used == rules_.chunk) cut.used = -1, ++cut.counting;
    });
  }

  [[nodiscard]] int pieces_of(std::size_t i, std::size_t g) const {
    std::ptrdiff_t count = 0;
    for (const auto& block : shapes_[i]) count += std::ranges::count(block, static_cast<int>(g), &model_piece::group);
    return static_cast<int>(count);
  }

  [[nodiscard]] const model_piece& piece_of(std::size_t i, std::size_t g, int number_of_piece) const {
    for (const auto& block : shapes_[i]) {
      for (const model_piece& piece : block) {
        if (static_cast<std::size_t>(piece.group) == g && number_of_piece-- == 0) return piece;
      }
    }
    return shapes_[i].front().front();
  }

  model_rules rules_;
  std::vector<model_input> shapes_;
  state start_;
  std::vector<state> successors_;
  bool one_is_enough_ = false;
  std::size_t states_ = 0;
};

}  // namespace gpuhist::test
