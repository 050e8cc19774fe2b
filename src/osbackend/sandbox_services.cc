#include "osbackend/sandbox_services.h"

#include "codec/json.h"

namespace strake::osbackend {

namespace {

std::uint64_t count_of(const json::Value& value, std::string_view name) {
  const auto count = json::find_int(value, {name});
  return count && *count > 0 ? static_cast<std::uint64_t>(*count) : 0;
}

Result<ServiceRecord> service_record_from(const json::Value& value) {
  ServiceRecord record;
  record.units_read = count_of(value, "unitsRead");
  if (const json::Value* units = json::find(value, {"units"})) {
    if (!units->is_object()) return error(Code::kCorrupt, "units: not an object");
    for (const auto& entry : units->get_object()) {
      ServiceRecord::Unit unit{ServiceState::kActive, count_of(entry.value(), "reloads"),
                               count_of(entry.value(), "restarts")};
      if (json::find_string(entry.value(), {"state"}) == to_string(ServiceState::kFailed))
        unit.state = ServiceState::kFailed;
      record.units.emplace(std::string(entry.key()), unit);
    }
  }
  if (const json::Value* failing = json::find(value, {"failing"})) {
    if (!failing->is_array()) return error(Code::kCorrupt, "failing: not a list");
    for (const json::Value& unit : failing->get_array()) {
      if (!unit.is_string()) return error(Code::kCorrupt, "failing: an item is not a text");
      record.failing.emplace(json::as_view(unit.get_string()));
    }
  }
  return record;
}

}  // namespace

const std::string SandboxServices::kRecordPath = "/var/lib/strake/sandbox-services.json";

Result<ServiceRecord> SandboxServices::record() {
  STRAKE_TRY_CONTEXT(const auto file, tree_.read(kRecordPath), "reading the record of the sandbox's services");
  if (!file) return ServiceRecord{};
  const auto value = json::parse(file->contents);
  auto record = value.ok() ? service_record_from(*value) : Result<ServiceRecord>(value.error());
  if (record.ok()) return record;
  return error(Code::kCorrupt, "the record {} of this sandboxed machine's services is damaged ({}); delete it",
               kRecordPath, record.error().to_string());
}

Status SandboxServices::save(const ServiceRecord& record) {
  json::Object units;
  for (const auto& [name, unit] : record.units) {
    units[name] =
        json::Object{{"state", to_string(unit.state)}, {"reloads", unit.reloads}, {"restarts", unit.restarts}};
  }
  json::Array failing;
  for (const std::string& unit : record.failing) failing.emplace_back(unit);
  const json::Value value =
      json::Object{{"unitsRead", record.units_read}, {"units", std::move(units)}, {"failing", std::move(failing)}};
  return tree_.write(kRecordPath, json::write_pretty(value), 0600, {})
      .context("writing the record of the sandbox's services {}", kRecordPath);
}

Status SandboxServices::read_units(const runtime::Call&) {
  STRAKE_TRY(ServiceRecord now, record());
  ++now.units_read;
  return save(now);
}

Status SandboxServices::reload(const std::string& unit, const runtime::Call&) {
  STRAKE_TRY(ServiceRecord now, record());
  if (now.units[unit].state == ServiceState::kFailed)
    return error(Code::kIo, "{} does not run, so it cannot be reloaded", unit);
  if (now.failing.contains(unit))
    return error(Code::kIo, "{} refused to read its configuration: it is listed as failing in {}", unit, kRecordPath);
  ++now.units[unit].reloads;
  return save(now);
}

Status SandboxServices::restart(const std::string& unit, const runtime::Call&) {
  STRAKE_TRY(ServiceRecord now, record());
  const bool fails = now.failing.contains(unit);
  now.units[unit].state = fails ? ServiceState::kFailed : ServiceState::kActive;
  ++now.units[unit].restarts;
  STRAKE_CHECK_OK(save(now));
  if (fails) return error(Code::kIo, "{} did not come up: it is listed as failing in {}", unit, kRecordPath);
  return {};
}

Result<ServiceState> SandboxServices::state(const std::string& unit, const runtime::Call&) {
  STRAKE_TRY(const ServiceRecord now, record());
  const auto known = now.units.find(unit);
  return known == now.units.end() ? ServiceState::kActive : known->second.state;
}

Status SandboxServices::set_failing(std::set<std::string> units) {
  STRAKE_TRY(ServiceRecord now, record());
  now.failing = std::move(units);
  return save(now);
}

Status SandboxServices::boot() {
  STRAKE_TRY(const ServiceRecord before, record());
  ServiceRecord now = before;
  for (auto& [name, unit] : now.units)
    unit.state = now.failing.contains(name) ? ServiceState::kFailed : ServiceState::kActive;
  return now == before ? Status() : save(now);
}

}  // namespace strake::osbackend
