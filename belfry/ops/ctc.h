// The loss of connectionist temporal classification: sequences of labels whose places in time are not known.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct CtcInputs {
  Tensor logits;         // [time, batch, classes], not normalised; [batch, time, classes] if not time_major
  Tensor labels;         // [batch, most labels] of i32 or i64; those beyond a sequence's length are ignored
  Tensor logit_lengths;  // [batch]: steps of each sequence that count, of i32 or i64
  Tensor label_lengths;  // [batch]
};
struct CtcOptions {
  int blank = -1;  // the class that means no label; negative ones count from the end
  bool time_major = true;
};

// -log of the probability of each sequence of labels, [batch]: the sum over all ways to stretch it over the steps by
// repeating labels and putting blanks between them (which two equal neighbours need). A sequence with too many labels,
// for which there is no such way, has an infinite loss and a gradient of 0. Labels or lengths outside their ranges end
// the run with a NumericError. Only first derivatives are defined.
Tensor ctc_loss(const CtcInputs& inputs, const CtcOptions& options = {}, std::string_view name = "",
                const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
