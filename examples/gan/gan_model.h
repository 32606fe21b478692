// GANModelDesc: a model of two players. Copy it along with a trainer of gan_trainers.h.
#pragma once

#include <belfry/belfry.h>

#include <memory>
#include <string_view>
#include <vector>

class GANModelDesc : public belfry::ModelDescBase {
 public:
  // The tower function. The generator's variables are under the scope "gen", the discriminator's under "discrim". It
  // returns the result of build_losses().
  virtual belfry::Tensors build_graph(const belfry::Inputs& in) = 0;
  // Used for both players.
  virtual std::unique_ptr<belfry::Optimizer> optimizer() = 0;

  // What each player trains in the tower that is being built.
  static std::vector<belfry::Variable> d_vars(const belfry::TowerContext& tower) { return in_scope(tower, "discrim/"); }
  static std::vector<belfry::Variable> g_vars(const belfry::TowerContext& tower) { return in_scope(tower, "gen/"); }

 protected:
  // {d_loss, g_loss}: the discriminator tells real from fake, the generator wants its fakes to be taken for real.
  static belfry::Tensors build_losses(const belfry::Tensor& real_logits, const belfry::Tensor& fake_logits) {
    using namespace belfry;
    const Tensor real = reduce_mean(sigmoid_cross_entropy(real_logits, 1.f), "d_loss_real");
    const Tensor fake = reduce_mean(sigmoid_cross_entropy(fake_logits, 0.f), "d_loss_fake");
    const Tensor d_loss = multiply(real + fake, 0.5f, "d_loss");
    const Tensor g_loss = reduce_mean(sigmoid_cross_entropy(fake_logits, 1.f), "g_loss");
    add_moving_summary({d_loss, g_loss});
    return {d_loss, g_loss};
  }

 private:
  static std::vector<belfry::Variable> in_scope(const belfry::TowerContext& tower, std::string_view scope) {
    std::vector<belfry::Variable> all = tower.trainable_variables();
    std::erase_if(all, [&](const belfry::Variable& v) { return !v.name().starts_with(scope); });
    return all;
  }
};
