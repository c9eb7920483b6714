// An abstract model of the waits while frames are decoded side by side, small enough to be explored in every
// interleaving. It holds the rules of pipeline/flow/decoding/compressed_inputs, block_reader, decode_contexts, cutter
// and collector in one place: each step below is the work of one coroutine between two waits.
//
// Threads are not modelled, because a waiting coroutine holds none. The engine returns the chunks of a cutter in any
// order, but the slots of a cutter are freed in order. Therefore the only visible step of the engine frees the oldest
// slot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace gpuhist::test {

/// Compressed bytes of one group within one block, and the text in them.
struct model_piece {
  int group = 0;              ///< of its input, from 0 on, without gaps
  int text = 0;               ///< units of text; a slot holds `chunk` of them
  bool large_window = false;  ///< a frame that needs a large window begins in it
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
  bool window_only_with_all_bytes = true;  ///< else also if all older groups of its input ended
  int groups_ahead = 4;                    ///< running groups of an input per decoder, at most
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

  /// Visits every reachable state. Returns false if one of them has work left but no step.
  bool always_ends() {
    std::unordered_set<std::string> visited;
    std::vector<state> todo{start_};
    while (!todo.empty()) {
      const state current = std::move(todo.back());
      todo.pop_back();
      successors_.clear();
      is_forced_ = false;
      add_steps(current);
      states_ = visited.size();
      if (successors_.empty() && !is_finished(current)) return false;
      for (state& next : successors_) {
        if (visited.insert(key(next)).second) todo.push_back(std::move(next));
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
    number decoded = 0;
    number text_left = -1;  // of the piece that is decoded; -1: there is none
    bool begun = false, closed = false, ended = false, window = false;
  };
  struct input {
    bool open = false, ends = false, waits_for_own = false;  // `ends`: the end was read, and all groups are closed
    number read = 0, split = 0, piece = 0, forgotten = 0;    // blocks; pieces of the block `split`; groups
    std::vector<number> extra{};                             // by block: whether it is an extra one
    std::vector<group> groups{};
  };
  struct cutter {
    number used = -1;  // units in the slot that is not sealed; -1: there is none
    number counting = 0;
    bool busy = false;
  };
  struct state {
    std::vector<input> inputs{};
    std::vector<cutter> cutters{};
    number plain_left = 0;
  };

  static std::string key(const state& current) {
    std::string out;
    const auto put = [&](auto... values) { (out.push_back(static_cast<char>(values)), ...); };
    for (const input& in : current.inputs) {
      put(in.open, in.ends, in.waits_for_own, in.read, in.split, in.piece, in.forgotten);
      for (const number each : in.extra) put(each);
      for (const group& g : in.groups)
        put(g.context, g.pushed, g.decoded, g.text_left, g.begun, g.closed, g.ended, g.window);
    }
    for (const cutter& each : current.cutters) put(each.used, each.counting, each.busy);
    put(current.plain_left);
    return out;
  }

  static bool all_ended(const input& in) { return std::ranges::all_of(in.groups, &group::ended); }
  static bool is_finished(const input& in) { return in.ends && all_ended(in); }
  static bool is_finished(const state& current) {
    return current.plain_left == 0 &&
           std::ranges::all_of(current.inputs, [](const input& in) { return is_finished(in); });
  }

  // A block is on loan until the splitter and the decoders of all its pieces have finished with it.
  [[nodiscard]] bool on_loan(const model_input& shape, const input& in, int block) const {
    if (block >= in.split) return true;
    std::vector<int> before(in.groups.size());
    for (int each = 0; each <= block; ++each) {
      for (const model_piece& piece : shape[static_cast<std::size_t>(each)]) {
        const auto g = static_cast<std::size_t>(piece.group);
        if (before[g]++ >= in.groups[g].decoded && each == block) return true;
      }
    }
    return false;
  }
  [[nodiscard]] int blocks_on_loan(const state& current, std::size_t i, bool extra) const {
    int count = 0;
    const input& in = current.inputs[i];
    for (int block = 0; block < static_cast<int>(in.extra.size()); ++block)
      count += (in.extra[static_cast<std::size_t>(block)] != 0) == extra && on_loan(shapes_[i], in, block) ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool slot_is_free(const state& current) const {
    int taken = 0;
    for (const cutter& each : current.cutters) taken += each.counting + (each.used >= 0 ? 1 : 0);
    return taken < rules_.slots;
  }
  template <typename F>
  void step(const state& from, F change) {
    if (is_forced_) return;
    successors_.push_back(from);
    change(successors_.back());
  }

  // A step that no other step can prevent, and that prevents no other step. The others do not depend on when it
  // happens, so no other order of it needs a visit.
  template <typename F>
  void step_at_once(const state& from, F change) {
    if (is_forced_) return;
    successors_.clear();
    step(from, change);
    is_forced_ = true;
  }

  void add_steps(const state& current) {
    for (std::size_t i = 0; i < current.inputs.size(); ++i) {
      open(current, i);
      if (!current.inputs[i].open) continue;
      read(current, i);
      split(current, i);
      for (std::size_t g = 0; g < current.inputs[i].groups.size(); ++g) decode(current, i, g);
    }
    for (std::size_t c = 0; c < current.cutters.size(); ++c) {  // the engine has counted its oldest chunk
      if (current.cutters[c].counting > 0) step_at_once(current, [c](state& next) { --next.cutters[c].counting; });
    }
    if (current.plain_left > 0)
      write(current, current.cutters.size() - 1, [](state& to) -> number& { return to.plain_left; });
  }

  void open(const state& current, std::size_t i) {
    const auto open =
        std::ranges::count_if(current.inputs, [](const input& in) { return in.open && !is_finished(in); });
    const bool is_next = !current.inputs[i].open && (i == 0 || current.inputs[i - 1].open);
    if (is_next && open < rules_.open_inputs) step(current, [i](state& next) { next.inputs[i].open = true; });
  }

  // Takes one of its own blocks, else an extra one if there are several groups, else waits for one of its own and for
  // no other. Finding the end of the input takes a block, too.
  void read(const state& current, std::size_t i) {
    const input& in = current.inputs[i];
    const auto blocks = static_cast<int>(shapes_[i].size());
    if (in.read > blocks) return;
    const bool own = blocks_on_loan(current, i, false) < rules_.own_blocks;
    int extras = rules_.extra_blocks;
    for (std::size_t each = 0; each < current.inputs.size(); ++each) extras -= blocks_on_loan(current, each, true);
    const bool extra = !own && !in.waits_for_own && extras > 0 && in.groups.size() > 1 && in.groups[1].begun;
    if (!own && !extra) {
      if (!in.waits_for_own) step(current, [i](state& next) { next.inputs[i].waits_for_own = true; });
      return;
    }
    step(current, [i, extra, blocks](state& next) {
      input& to = next.inputs[i];
      to.waits_for_own = false;
      if (to.read++ < blocks) to.extra.push_back(extra ? 1 : 0);
    });
  }

  void split(const state& current, std::size_t i) {
    const input& in = current.inputs[i];
    const auto blocks = static_cast<int>(shapes_[i].size());
    if (in.split == blocks) {
      if (in.read > blocks && !in.ends) {
        step(current, [i](state& next) {
          next.inputs[i].ends = true;
          for (group& each : next.inputs[i].groups) each.closed = true;
        });
      }
      return;
    }
    if (in.split >= in.read) return;
    const auto& block = shapes_[i][static_cast<std::size_t>(in.split)];
    const auto g = static_cast<std::size_t>(block[static_cast<std::size_t>(in.piece)].group);
    if (!in.groups[g].begun) return begin_group(current, i, g);
    const bool closes = in.groups[g].pushed + 1 == pieces_of(i, g) && g + 1 < in.groups.size();
    step(current, [i, g, closes, last = static_cast<int>(block.size()) - 1](state& next) {
      input& to = next.inputs[i];
      ++to.groups[g].pushed;
      to.groups[g].closed = closes;  // the last group learns from the end of the input that it has all its bytes
      if (to.piece++ == last) ++to.split, to.piece = 0;
    });
  }

  void begin_group(const state& current, std::size_t i, std::size_t g) {
    const input& in = current.inputs[i];
    if (static_cast<int>(g) - in.forgotten >= rules_.groups_ahead * rules_.decoders) {
      if (in.groups[static_cast<std::size_t>(in.forgotten)].ended)
        step_at_once(current, [i](state& next) { ++next.inputs[i].forgotten; });
      return;
    }
    for (std::size_t c = 0; c < static_cast<std::size_t>(rules_.decoders); ++c) {
      if (current.cutters[c].busy) continue;
      step(current, [i, g, c](state& next) {
        input& to = next.inputs[i];
        to.groups[g].begun = next.cutters[c].busy = true;
        to.groups[g].context = static_cast<number>(c);
      });
    }
  }

  void decode(const state& current, std::size_t i, std::size_t g) {
    const group& task = current.inputs[i].groups[g];
    if (!task.begun || task.ended) return;
    if (task.text_left >= 0) return decode_piece(current, i, g);
    if (task.decoded < task.pushed) {
      const auto text = static_cast<number>(piece_of(i, g, task.decoded).text);
      step_at_once(current, [i, g, text](state& next) { next.inputs[i].groups[g].text_left = text; });
    } else if (task.closed) {
      step_at_once(current, [i, g](state& next) {
        group& to = next.inputs[i].groups[g];
        to.ended = true;
        to.window = false;
        next.cutters[static_cast<std::size_t>(to.context)].busy = false;
      });
    }
  }

  // First a reservation in a slot, then the window, then text. A full slot is sealed, and the next slot is needed to
  // see that there is no more text.
  void decode_piece(const state& current, std::size_t i, std::size_t g) {
    const group& task = current.inputs[i].groups[g];
    const auto c = static_cast<std::size_t>(task.context);
    if (current.cutters[c].used >= 0 && piece_of(i, g, task.decoded).large_window && !task.window) {
      if (window_is_free(current, i, g)) step(current, [i, g](state& next) { next.inputs[i].groups[g].window = true; });
    } else if (current.cutters[c].used >= 0 && task.text_left == 0) {
      step(current, [i, g](state& next) {
        next.inputs[i].groups[g].text_left = -1;
        ++next.inputs[i].groups[g].decoded;
      });
    } else {
      write(current, c, [i, g](state& to) -> number& { return to.inputs[i].groups[g].text_left; });
    }
  }

  [[nodiscard]] bool window_is_free(const state& current, std::size_t i, std::size_t g) const {
    int taken = 0;
    for (const input& in : current.inputs) taken += static_cast<int>(std::ranges::count_if(in.groups, &group::window));
    const std::vector<group>& groups = current.inputs[i].groups;
    const bool is_last = std::all_of(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(g),
                                     [](const group& older) { return older.ended; });
    return taken < rules_.large_windows && (!rules_.window_only_with_all_bytes || groups[g].closed || is_last);
  }

  template <typename F>
  void write(const state& current, std::size_t c, F remaining) {
    if (current.cutters[c].used < 0) {
      if (slot_is_free(current)) step(current, [c](state& next) { next.cutters[c].used = 0; });
      return;
    }
    step_at_once(current, [this, c, remaining](state& next) {
      cutter& cut = next.cutters[c];
      const auto some = static_cast<number>(std::min<int>(remaining(next), rules_.chunk - cut.used));
      remaining(next) = static_cast<number>(remaining(next) - some);
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
  bool is_forced_ = false;
  std::size_t states_ = 0;
};

}  // namespace gpuhist::test
