// Writes a sheet of generated images after each epoch, always from the same numbers: what the generator has learned.
#pragma once

#include <belfry/belfry.h>

class SampleSheet final : public belfry::Callback {
 public:
  explicit SampleSheet(std::uint64_t seed);

  void setup_graph() override;  // the predictor's tower is built here
  void trigger() override;      // <run_dir>/epoch-<number>.png
  std::vector<belfry::Written> writes() const override { return {{trainer().run_dir(), {"epoch-*.png"}}}; }

 private:
  belfry::Array z_;
  belfry::OnlinePredictor generate_;
};
