// A service in memory for tests, and short ways to say things to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "apistore/in_process_api.h"
#include "apistore/schema/registry.h"
#include "apistore/service/service.h"

namespace strake::apistore::testkit {

/// Compiled once for the whole test program: reading twenty-seven definitions takes a while under a sanitizer.
inline std::shared_ptr<const Registry> shared_registry() {
  static const std::shared_ptr<const Registry> registry = [] {
    auto loaded = Registry::standard();
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
    return std::make_shared<const Registry>(*std::move(loaded));
  }();
  return registry;
}

inline std::unique_ptr<Service> open_service(runtime::Runtime& runtime, ServiceOptions options = {}) {
  auto service = Service::open(runtime, shared_registry(), std::move(options));
  EXPECT_TRUE(service.ok()) << service.error().to_string();
  return *std::move(service);
}

inline Request as_admin() { return {{"admin", {"strake:admins"}}, {}, {}}; }

inline json::Value parse(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << value.error().to_string() << "\n" << text;
  return *std::move(value);
}

inline json::Value object(const kube::Resource& resource, std::string_view ns, std::string_view name,
                          std::string_view more_json = "{}") {
  kube::Object made(resource, {std::string(ns), std::string(name)});
  const json::Value more = parse(more_json);
  for (const auto& [key, value] : more.get_object()) {
    if (key == "metadata") {
      for (const auto& [field, field_value] : value.get_object())
        made.json().get_object()["metadata"].get_object()[field] = field_value;
    } else {
      made.json().get_object()[key] = value;
    }
  }
  return std::move(made.json());
}

}  // namespace strake::apistore::testkit
