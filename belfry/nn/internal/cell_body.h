// The implementation of an RnnCell: how a kind of cell makes a step, and how it processes a whole sequence.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "belfry/base/mutex.h"
#include "belfry/nn/rnn.h"
#include "belfry/nn/rnn_cell.h"

namespace belfry {

// A sequence as rnn() has checked it.
struct CellSequence {
  Tensor x{};         // [time, batch, features], features known
  Tensors initial{};  // complete
  Tensor lengths{};   // [batch], or empty
  bool written_out = false;
};

// The variable scope of a cell: the first call in a graph and enclosing scope makes variables there, later ones find
// them.
class CellScope {
 public:
  CellScope(std::string_view name, const char* kind, const Location& where);

  const std::string& name() const { return name_; }
  const Location& where() const { return where_; }
  std::string title() const;  // "[lstm cell 'rnn/layer0']"
  // Calls `build` inside the scope.
  void inside(const std::function<void()>& build) const;

 private:
  std::string name_;
  const char* kind_;
  Location where_;
  mutable Mutex mutex_;
  mutable std::set<std::pair<GraphId, std::string>> made_in_ BELFRY_GUARDED_BY(mutex_);
};

class CellBody {
 public:
  virtual ~CellBody() = default;

  virtual const std::string& name() const = 0;
  virtual const Ints& state_sizes() const = 0;
  virtual std::int64_t output_size() const = 0;
  // Whether a tensor of the state is what a step passes on (h), not additional memory (an LSTM's c).
  virtual bool passes_on([[maybe_unused]] std::size_t state) const { return true; }

  virtual RnnStep step(const Tensor& x, const Tensors& state) const = 0;
  // Beyond a row's length its outputs are 0 and its state does not change.
  virtual RnnResult over_time(const CellSequence& sequence) const;
  // See RnnCell::begin(); nothing if that changes nothing.
  virtual std::shared_ptr<const CellBody> begin([[maybe_unused]] const Tensor& x) const { return nullptr; }
};

// Step by step, unrolled or as a loop. `outputs` is the size of a step's output.
RnnResult step_by_step(const CellSequence& sequence, std::int64_t outputs, const RnnCell::Step& step);

// Throws unless `state` is complete for rows of x [batch, ...]; `title` and `line` are for errors.
void check_state(const CellBody& cell, const Tensor& x, int batch_axis, const Tensors& state, const std::string& title,
                 const std::string& line);

}  // namespace belfry
