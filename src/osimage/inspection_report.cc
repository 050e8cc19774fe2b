// An inspection as JSON and as text.
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "base/time.h"
#include "base/visible_text.h"
#include "osimage/inspection.h"
#include "osimage/listing.h"
#include "stream/os_version.h"

namespace strake::osimage {

namespace {

constexpr std::string_view kStreamClassLabel = "io.openshift.os.streamclass";

std::string label_of(const ImageFacts& facts, std::string_view name) {
  const auto found = facts.labels.find(std::string(name));
  return found == facts.labels.end() ? "" : found->second;
}

std::string value_of(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

json::Array text_array(const std::vector<std::string>& texts) { return json::Array(texts.begin(), texts.end()); }

std::string commit_time(const ostree::Commit& commit) {
  const auto seconds = std::chrono::seconds(std::min<std::uint64_t>(commit.timestamp, 253'402'300'799));  // year 9999
  return format_rfc3339(std::chrono::system_clock::time_point(seconds));
}

/// The version of the OS: what the commit says, else what labels say in the order tools read them.
std::string os_version(const ImageFacts& facts) {
  if (facts.derived_layers == 0 && facts.commit) {
    if (const auto version = facts.commit->text("version")) return *version;
  }
  for (const std::string_view label : {"org.opencontainers.image.version", "version"}) {
    if (std::string version = label_of(facts, label); !version.empty()) return version;
  }
  return facts.commit ? facts.commit->text("version").value_or("") : "";
}

json::Object database_json(const PackageDatabase& database) {
  json::Object object{{"system", std::string(packages::to_string(database.system))}, {"path", database.path}};
  if (!database.problem.empty()) {
    object[database.trouble()] = database.problem;
    return object;
  }
  json::Array list;
  for (const packages::Package& package : database.packages) {
    json::Object entry{{"name", package.name}, {"version", package.version}};
    if (!package.epoch.empty()) entry["epoch"] = package.epoch;
    if (!package.release.empty()) entry["release"] = package.release;
    if (!package.architecture.empty()) entry["architecture"] = package.architecture;
    list.emplace_back(std::move(entry));
  }
  object["count"] = database.packages.size();
  object["packages"] = std::move(list);
  return object;
}

json::Object kernel_json(const Kernel& kernel) {
  json::Object object{{"version", kernel.version}};
  const auto put = [&](const char* key, const std::optional<Kernel::File>& file) {
    if (file) object[key] = json::Object{{"path", file->path}, {"size", file->size}};
  };
  put("vmlinuz", kernel.vmlinuz);
  put("initramfs", kernel.initramfs);
  return object;
}

std::string arguments_text(const KernelArgumentsFile& file) {
  if (!file.problem.empty()) return "invalid: " + file.problem;
  std::string text = fmt::format("{}", fmt::join(file.arguments, " "));
  if (!file.architectures.empty()) text += fmt::format("   (on {})", fmt::join(file.architectures, ", "));
  return text;
}

/// "415.92.202311241643-0 (RHEL 9.2 of OpenShift 4.15, built 2023-11-24), 890 days older": the age is that of the image
/// a machine would be installed from again, seen from the commit.
std::string installed_from(const ImageFacts& facts, std::string_view version) {
  if (!facts.aleph_problem.empty()) return fmt::format("unreadable: {}", facts.aleph_problem);
  if (!facts.aleph) return "";
  std::string text = facts.aleph->version + stream::os_version_note(facts.aleph->version);
  const auto installed = stream::OsVersion::parse(facts.aleph->version);
  const auto current = stream::OsVersion::parse(version);
  if (installed.ok() && current.ok() && (*installed <=> *current) < 0) {
    const auto days = (current->day() - installed->day()).count();
    text += days > 0 ? fmt::format(", {} day{} older than this commit", days, days == 1 ? "" : "s")
                     : ", older than this commit";
  }
  return text;
}

}  // namespace

json::Object inspection_json(const ImageFacts& facts, const Inspection& inspection) {
  json::Object object{{"form", std::string(to_string(facts.form))}, {"bootable", inspection.bootable}};
  if (facts.digest) object["digest"] = facts.digest->to_string();
  if (facts.platform) object["architecture"] = facts.platform->architecture;
  if (const std::string version = os_version(facts); !version.empty()) object["version"] = version;
  if (const std::string name = label_of(facts, kStreamClassLabel); !name.empty()) object["streamClass"] = name;
  if (facts.form != Form::kOstreeRepository) {
    object["layers"] =
        json::Object{{"count", facts.layers}, {"derived", facts.derived_layers}, {"size", facts.layer_bytes}};
  }
  if (facts.commit) {
    json::Object commit{{"checksum", facts.commit_checksum->hex()}, {"timestamp", commit_time(*facts.commit)}};
    if (const auto version = facts.commit->text("version")) commit["version"] = *version;
    if (const auto kernel = facts.commit->text("ostree.linux")) commit["kernel"] = *kernel;
    if (!facts.commit->subject.empty()) commit["subject"] = facts.commit->subject;
    object["commit"] = std::move(commit);
  }
  if (facts.aleph) {
    json::Object installed{{"version", facts.aleph->version}};
    if (!facts.aleph->image.empty()) installed["image"] = facts.aleph->image;
    if (!facts.aleph->image_digest.empty()) installed["imageDigest"] = facts.aleph->image_digest;
    if (!facts.aleph->ostree_commit.empty()) installed["commit"] = facts.aleph->ostree_commit;
    object["installedFrom"] = std::move(installed);
  } else if (!facts.aleph_problem.empty()) {
    object["installedFrom"] = json::Object{{"unreadable", facts.aleph_problem}};
  }
  json::Object os_release;
  for (const auto& [key, value] : inspection.os_release) os_release[key] = value;
  object["osRelease"] = std::move(os_release);
  json::Array kernels;
  for (const Kernel& kernel : inspection.kernels) kernels.emplace_back(kernel_json(kernel));
  object["kernels"] = std::move(kernels);
  json::Array arguments;
  for (const KernelArgumentsFile& file : inspection.kernel_arguments) {
    json::Object entry{{"path", file.path}};
    if (file.problem.empty()) {
      entry["kargs"] = text_array(file.arguments);
      if (!file.architectures.empty()) entry["matchArchitectures"] = text_array(file.architectures);
    } else {
      entry["invalid"] = file.problem;
    }
    arguments.emplace_back(std::move(entry));
  }
  object["kargs"] = std::move(arguments);
  json::Array databases;
  for (const PackageDatabase& database : inspection.package_databases) databases.emplace_back(database_json(database));
  object["packageDatabases"] = std::move(databases);
  if (!facts.merge.dropped.empty()) {
    json::Object dropped;
    for (const auto& [name, count] : facts.merge.dropped) dropped[name] = count;
    object["droppedOnImport"] = std::move(dropped);
  }
  json::Object labels;
  for (const auto& [name, value] : facts.labels) labels[name] = value;
  object["labels"] = std::move(labels);
  return object;
}

std::string describe_inspection(const ImageFacts& facts, const Inspection& inspection, bool list_packages) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](std::string name, std::string value) {
    if (!value.empty()) rows.push_back({std::move(name), visible_line(value)});
  };
  row("Form:", std::string(to_string(facts.form)));
  if (facts.digest) row("Digest:", facts.digest->to_string());
  if (facts.platform) row("Architecture:", facts.platform->architecture);
  row("Name:", value_of(inspection.os_release, "PRETTY_NAME"));
  const std::string version = os_version(facts);
  row("Version:", version + stream::os_version_note(version));
  row("OS version:", value_of(inspection.os_release, "VERSION_ID"));
  row("OSTree version:", value_of(inspection.os_release, "OSTREE_VERSION"));
  row("Stream class:", label_of(facts, kStreamClassLabel));
  row("Bootable:", inspection.bootable ? "yes" : "no");
  if (facts.form != Form::kOstreeRepository) {
    row("Layers:",
        fmt::format("{}, {} bytes{}", facts.layers, facts.layer_bytes,
                    facts.derived_layers == 0 ? "" : fmt::format(", {} built on the commit", facts.derived_layers)));
  }
  if (facts.commit) {
    row("Commit:", facts.commit_checksum->hex());
    row("Committed:", commit_time(*facts.commit));
    row("Commit version:", facts.commit->text("version").value_or(""));
  }
  row("Installed from:", installed_from(facts, version));
  for (const Kernel& kernel : inspection.kernels) {
    row("Kernel:", kernel.version);
    for (const auto& file : {kernel.vmlinuz, kernel.initramfs}) {
      if (file) row("", fmt::format("{} ({} bytes)", file->path, file->size));
    }
  }
  for (const KernelArgumentsFile& file : inspection.kernel_arguments) {
    row("Kernel arguments:", fmt::format("{}: {}", file.path, arguments_text(file)));
  }
  for (const PackageDatabase& database : inspection.package_databases) {
    row("Packages:",
        database.problem.empty()
            ? fmt::format("{} ({}, {})", database.packages.size(), packages::to_string(database.system), database.path)
            : fmt::format("{}: {}: {}", database.trouble(), database.path, database.problem));
  }
  if (inspection.package_databases.empty()) row("Packages:", "no package database");
  for (const auto& [name, count] : facts.merge.dropped) {
    row("Dropped on import:", fmt::format("/{}: {} entries of the layers built on the commit", name, count));
  }
  for (const auto& [name, value] : facts.labels) row("Label:", fmt::format("{}={}", name, value));
  std::string text = align_columns(rows);
  if (!list_packages) return text;
  for (const PackageDatabase& database : inspection.package_databases) {
    for (const packages::Package& package : database.packages) {
      text += visible_line(packages::identity_text(database.system, package)) + "\n";
    }
  }
  return text;
}

}  // namespace strake::osimage
