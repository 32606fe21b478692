// Prints a sample after each epoch: what the model has learned, to look at.
#pragma once

#include <belfry/belfry.h>

#include "examples/char_transformer/text.h"

class ShowSample final : public belfry::Callback {
 public:
  // A model of `vocabulary`'s characters continues the prompt, whose length must be the one given to CharModel.
  ShowSample(belfry::Vocabulary vocabulary, const Ids& prompt);

  void setup_graph() override;  // the predictor's tower is built here
  void trigger() override;
  bool declares_metrics() const override { return true; }

 private:
  belfry::Vocabulary vocabulary_;
  belfry::Array prompt_;
  belfry::OnlinePredictor sample_;
};
