// A cluster in simulation with one link to it that a test can cut, and one that always works.
#pragma once

#include <gtest/gtest.h>

#include "base/simulation.h"
#include "kube/testing/fake_api.h"
#include "kube/testing/run_for.h"

namespace strake::configserver::testing {

struct SimulatedCluster {
  explicit SimulatedCluster(std::uint64_t seed = 1) : simulation(seed) {}

  // Called between runs: the server acts at once.
  void put(const kube::Resource& resource, kube::Object object) {
    if (const auto known = direct.get(resource, object.key(), {}); known.ok()) {
      json::ensure(object.json(), {"metadata", "resourceVersion"}) = known->resource_version();
      json::ensure(object.json(), {"metadata", "uid"}) = known->uid();
      ASSERT_TRUE(direct.update(resource, object, {}, {}).ok());
      return;
    }
    ASSERT_TRUE(direct.create(resource, object, {}, {}).ok());
  }
  void remove(const kube::Resource& resource, const kube::ObjectKey& key) {
    ASSERT_TRUE(direct.remove(resource, key, {}, {}).ok());
  }
  void run_for(runtime::Duration duration) { kube::testing::run_for(simulation, duration); }

  sim::Simulation simulation;
  kube::testing::FakeServer server{simulation};
  kube::testing::FakeClient direct{server};
  kube::testing::FakeClient client{server};
};

}  // namespace strake::configserver::testing
