// Shows what the model has learned: after each epoch, images made from the same numbers and from the same images.
#pragma once

#include <belfry/belfry.h>

#include <vector>

class Pictures final : public belfry::Callback {
 public:
  // `originals` [n, 28, 28, 1] are encoded and decoded; the numbers for new images are drawn once, from `seed`.
  Pictures(belfry::Array originals, std::uint64_t seed);

  void setup_graph() override;  // the predictors' tower is built here
  // <run_dir>/samples-<epoch>.png and reconstructions-<epoch>.png, where each decoded image is next to its original.
  void trigger() override;
  std::vector<belfry::Written> writes() const override {
    return {{trainer().run_dir(), {"samples-*.png", "reconstructions-*.png"}}};
  }
  bool declares_metrics() const override { return true; }  // it puts none

 private:
  belfry::Array originals_, z_;
  belfry::OnlinePredictor encode_, decode_;
};
