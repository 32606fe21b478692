// InputSource: how datapoints enter a running graph.
//
//   Handle<InputSource> input = QueueInput(flow);
//   trainer.register_callbacks(input->setup(signature));
//   Tensors first = input->get_input_tensors();   // of a tower; each call takes its own points
//
// All but FeedInput and PlaceholderInput are feed-free: the data are ready before the step needs them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

class InputSource {
 public:
  InputSource() = default;
  virtual ~InputSource() = default;
  InputSource(InputSource&&) = default;
  InputSource& operator=(InputSource&&) = default;

  // Call it once, in the graph that will use the input. Returns the callbacks that make it work: register them.
  Callbacks setup(std::vector<TensorSpec> signature, const Location& where = Location::current());
  // One tensor for each entry of the signature. Each call takes its own points: two towers get different ones in a
  // step.
  Tensors get_input_tensors(const Location& where = Location::current());

  virtual std::string name() const;  // for messages: "QueueInput"
  // To be called before setup(): whose input it is if it is not the training's, for messages.
  void set_owner(std::string owner) { owner_ = std::move(owner); }
  virtual std::optional<std::int64_t> size() const { return std::nullopt; }  // points in one pass, if known
  virtual bool feed_free() const { return true; }
  virtual bool endless() const { return true; }  // whether points never end; otherwise EndOfData follows the last one
  // To be called before the first run: reads the first point, which that run will then get, and throws unless it fits
  // the signature. Inputs that read no data do nothing.
  virtual void check_first_point() {}
  // From any thread: a check_first_point() that waits, now or later, throws Cancelled, until reset_state() is called.
  virtual void cancel_check() {}
  // Back to the start of the data, for the next round of inference. Not while a run uses it.
  virtual void reset_state() {}
  // Whether points wait in a staging area, one step ahead.
  virtual bool staged() const { return false; }
  // Says that the runs get its points from staging areas: these tensors, one per tower, carry the state of the points
  // that are really used.
  virtual void taken_through(const Tensors& /*gets*/) {}

  bool is_set_up() const { return signature_.has_value(); }
  const std::vector<TensorSpec>& signature() const;  // available once it is set up

 protected:
  std::string title() const { return owner_.empty() ? name() : owner_ + ": " + name(); }  // begins messages
  virtual Callbacks make_callbacks() { return {}; }  // called once, when the signature is known
  virtual Tensors make_tensors() = 0;
  // The call of setup() or get_input_tensors() that either of these serves: the line of the ops it makes
  // (LocationScope).
  const Location& where() const { return where_; }

 private:
  std::string owner_;
  std::optional<std::vector<TensorSpec>> signature_;
  Location where_;
};

using InputSourcePtr = Handle<InputSource>;

// Throws unless the point fits: "[QueueInput] input 'image' expects f32 [?, 28, 28, 1], the flow's component 0 is ...".
// `line` is the call that set the input up.
void check_point(const std::string& where, const std::vector<TensorSpec>& signature, const std::vector<Array>& point,
                 const std::optional<Location>& line = {});
// The same for the first point; also throws if there is none.
void check_first(const std::string& where, const std::vector<TensorSpec>& signature,
                 const std::optional<std::vector<Array>>& point, const Location& line);

}  // namespace belfry
#pragma GCC visibility pop
