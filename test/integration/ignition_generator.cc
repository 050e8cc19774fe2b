#include "integration/ignition_generator.h"

#include <fmt/format.h>

#include <vector>

namespace strake::test {

namespace {

struct TextPool {
  std::string_view member;  ///< the end of a member's path
  std::vector<std::string> right;
  std::vector<std::string> wrong;
};

std::string hash_of(std::string_view function, std::size_t digits) {
  return fmt::format("{}-{}", function, std::string(digits, 'a'));
}

/// The first pool whose name ends the path is taken, so special ones come first.
const std::vector<TextPool>& text_pools() {
  static const std::vector<TextPool> pools{
      {"tang.url",
       {"http://tang.example/", "https://t.example:8080/x?y=1"},
       {"", "ftp://t/", "http://[::1", "http://a b/"}},
      {"advertisement", {"", "{\"payload\":\"x\"}", "[1,2]"}, {"{", "x", "{} {}"}},
      {"thumbprint", {"abc", "def"}, {""}},
      {"pin", {"tpm2", "tang", "sss"}, {"", "other"}},
      {"custom.config", {"{}", "x"}, {""}},
      {"cex.enabled", {}, {}},
      {"contents.source",
       {"", "data:,hello%20world",
        "data:;base64,aGVsbG8=", "data:text/plain;charset=utf-8;base64,YQ==", "https://x.example/y",
        "http://u:p@h.example:80/p?q=1#f", "tftp://h/f", "s3://bucket/key", "data:text/plain;charset=\"a b\",x"},
       {"x",
        "ftp://h/f",
        "data:",
        "data:,a b",
        "data:,%zz",
        "data:;base64,!!",
        "data:;base64,YQ=",
        "data:foo/bar,x",
        "data:text,x",
        "data:text/plain;a,x",
        "http://[::1]:x/",
        "http://h/%zz",
        "://x",
        "gs://b/o",
        "http://h:p/",
        "s3://b/k?versionId=",
        "s3://b/k?versionId=7",
        "arn:aws:s3:::b/k",
        "arn:aws:s3:::b",
        "arn:aws:s3:r:a:accesspoint/x",
        "arn:aws:s3:r:a:accesspoint/x/object/y",
        "arn:aws:ec2:::b/k",
        "arn:x",
        "arn:aws:s3:::b/k?versionId=",
        "http://a\tb/",
        "1http://x",
        "a b:c",
        "http://h%20x/",
        "http://exa<mple/",
        "HTTPS://X.example/",
        "data:x-y/z,q",
        "DATA:,x",
        "http://user name@h/",
        "http://[fe80::1%25en0]:80/",
        "http://a[b]/",
        "data:,\xC3\xA9",
        "oem:///etc/x",
        R"(data:text/plain;a="\q",x)",
        R"(data:text/plain;a="%4\x41\101\"",x)",
        R"(data:text/plain;a="\400",x)",
        R"(data:text/plain;a="\u00e9\ud800",x)",
        "data:text/plain;a=\"\t\",x"}},
      {"source",
       {"https://x.example/c.ign", "http://h/c", "data:,%7B%7D", "s3://bucket/key", "tftp://h/c"},
       {"", "x", "ftp://h/f", "data:;base64,!!", "gs://b/o", "arn:aws:s3:::b/k", "arn:aws:s3:::b",
        "s3://b/k?versionId=", "http://h/%zz", ":x"}},
      {"compression", {"", "gzip"}, {"xz", "GZIP"}},
      {"hash",
       {hash_of("sha512", 128), hash_of("sha512", 128)},
       {"", "sha512", hash_of("sha512", 127), hash_of("sha256", 64), hash_of("sha256", 63), hash_of("md5", 32),
        "sha512-"}},
      {"httpHeaders.name", {"A", "B", "C"}, {""}},
      {"httpHeaders.value", {"x", "y"}, {""}},
      {"httpProxy",
       {"http://p.example:3128", "https://p.example"},
       {"", "ftp://p", "p:3128x", "http://[p", "socks5://p"}},
      {"httpsProxy",
       {"https://p.example", "https://p.example:1"},
       {"", "http://p.example", "ftp://p", "%", "http://%zz"}},
      {"files.path",
       {"/etc/a", "/etc/b", "/etc/c/d", "/opt/x", "/etc/systemd/system/a.socket"},
       {"", "etc/a", "/etc//a", "/etc/../a", "/etc/a/", "/", "/link/a", "/link/b/c", "/etc/systemd/system/a.service",
        "/etc/systemd/system/b.service.d/10-a.conf", "/dir"}},
      {"directories.path", {"/dir", "/dir/sub", "/var/x", "/var/y"}, {"", "dir", "/dir/", "/link/d", "/etc/a", "/./x"}},
      {"links.path",
       {"/link", "/other", "/third"},
       {"", "link", "/link/", "/link/inner", "/dir", "/etc/systemd/system/a.service"}},
      {"links.target", {"/etc/a", "../x", "/usr/share/zoneinfo/UTC"}, {"", "/dir", "/dir/", "../dir", "sub"}},
      {"filesystem", {"root", "root", "root", "data"}, {"", "oem"}},
      {"filesystems.name", {"root", "data"}, {"", "other"}},
      {"mount.device", {"/dev/sda1", "/dev/sdb1"}, {"", "sda1"}},
      {"networkd.units.name", {"a.network", "b.link", "c.netdev"}, {"", "a.service", ".network"}},
      {"filesystems.path", {"/", "/var", "/boot", ""}, {"var", "/var/", "//"}},
      {"filesystems.device", {"/dev/sda1", "/dev/sdb1", "/dev/md/a"}, {"", "sda1", "/dev/", "/dev/sda", "/dev/sdb"}},
      {"disks.device", {"/dev/sda", "/dev/sdb", "/dev/sdc"}, {"", "sda", "/dev/sda/", "/dev//sda"}},
      {"luks.device", {"/dev/sda1", "/dev/sdb1"}, {"", "sda", "/dev/"}},
      {"luks.name", {"l1", "l2", "l3"}, {"", "a/b"}},
      {"luks.label", {"", "data", std::string(47, 'l')}, {std::string(48, 'l')}},
      {"filesystems.label",
       {"", "root", "data"},
       {std::string(12, 'l'), std::string(13, 'l'), std::string(16, 'l'), std::string(17, 'l'), std::string(257, 'l')}},
      {"mount.label", {"", "root", "data"}, {std::string(257, 'l')}},
      {"format", {"ext4", "btrfs", "xfs", "swap", "vfat"}, {"", "none", "zfs", "EXT4"}},
      {"partitions.label", {"p1", "p2", "p3", "p4"}, {"", "a:b", std::string(36, 'p'), std::string(37, 'p')}},
      {"uid", {}, {}},
      {"guid",
       {"", "01234567-89AB-CDEF-EDCB-A98765432101"},
       {"x", "01234567-89AB-CDEF-EDCB-A9876543210", "01234567x89AB-CDEF-EDCB-A98765432101"}},
      {"typeGuid", {"", "01234567-89ab-cdef-edcb-a98765432101"}, {"zz", "0123456g-89AB-CDEF-EDCB-A98765432101"}},
      {"level",
       {"raid1", "1", "mirror", "raid4", "raid5", "6", "raid10", "linear", "raid0", "stripe"},
       {"", "raid7", "RAID1", "0"}},
      {"devices", {"/dev/sda1", "/dev/sdb1", "/dev/sdc1", "/dev/sdd1"}, {"", "sda", "/dev/", "/dev/sda1"}},
      {"raid.name", {"a", "b", "c"}, {""}},
      {"units.name",
       {"a.service", "b.service", "c.timer", "d@.service", "d@x.service", "e.mount", "d@y.service"},
       {"", "a", "a.txt", ".service", "x/a.service", "a.service/x", "@a.service", "d@.service"}},
      {"dropins.name", {"10-a.conf", "20-b.conf", "30-c.conf"}, {"", "a", "a.txt", ".conf", "a.conf/b"}},
      {"contents",
       {"", "[Unit]\nDescription=x\n",
        "[Service]\nExecStart=/bin/true \\\n  --x\n[Install]\nWantedBy=multi-user.target\n",
        "# comment\n[Install]\nWantedBy=a\n", "[Install]\nA=\n", "; c \\\n more\n[Unit]\n\n  A = b\n", "[Install]\n",
        "[A]\r\nB=c\r\n",
        "[A]\n\xC2\xA0"
        "B=c"},
       {"x", "[Unit", "[Unit]x\nA=b", "[Unit]\nA", "[Unit]\nAbc\nB=c", "[Unit]\n" + std::string(2100, 'x') + "=1",
        "[Unit]\nA=" + std::string(3000, 'y'), "[A]\nB=" + std::string(1500, 'z') + "\nC=" + std::string(3000, 'y'),
        std::string(2048, 'q'), "[A]\nB=\\\n" + std::string(2047, 'w') + "\\\nx", "[Unit]\nA=b\\", "[Unit]\n#\\",
        "[A]\n" + std::string(5000, 'n'), "[A]\nX=" + std::string(4090, 'v') + "\n" + std::string(2050, 'v') + "=1\n"}},
      {"users.name", {"core", "admin", "u3"}, {""}},
      {"groups.name", {"wheel", "adm", "g3"}, {""}},
      {"user.name", {"", "core"}, {"root"}},
      {"group.name", {"", "wheel"}, {"root"}},
  };
  return pools;
}

/// Which of a pair of members goes where spec 2 allows only one; broken configs keep both.
void keep_one(json::Object& object, std::string_view kept, std::initializer_list<std::string_view> others) {
  if (!object.contains(kept)) return;
  for (const std::string_view other : others) object.erase(other);
}

constexpr std::int64_t kStartSectors[] = {0, 2048, 4096, 10240, 1 << 20};
constexpr std::int64_t kRightIntegers[] = {0, 1, 2, 3, 100, 420, 493};
constexpr std::int64_t kWrongIntegers[] = {-1, 511, 512, 1023, 4095, 4096, 2048, INT64_MAX, INT64_MIN, 50, 99};

bool ends_with_member(std::string_view path, std::string_view member) {
  return path.ends_with(member) && (path.size() == member.size() || path[path.size() - member.size() - 1] == '.');
}

}  // namespace

bool IgnitionGenerator::chance(double probability) {
  return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
}

std::size_t IgnitionGenerator::below(std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
}

std::string IgnitionGenerator::text(const std::string& path) {
  for (const TextPool& pool : text_pools()) {
    if (!ends_with_member(path, pool.member) || pool.right.empty()) continue;
    const auto& values = chance(broken_) && !pool.wrong.empty() ? pool.wrong : pool.right;
    return values[below(values.size())];
  }
  constexpr std::string_view kWords[] = {"", "a", "b", "c", "ro", "quiet", "\xC3\xA9t\xC3\xA9"};
  return std::string(kWords[chance(broken_) ? below(std::size(kWords)) : below(std::size(kWords) - 1) + 1]) +
         (chance(0.8) ? fmt::format("{}", below(1000)) : "");
}

json::Value IgnitionGenerator::scalar(const ignition::Member& member, const std::string& path) {
  switch (member.type) {
    case ignition::MemberType::kInteger:
      if (ends_with_member(path, "partitions.start") && !chance(broken_)) {
        return kStartSectors[below(std::size(kStartSectors))];
      }
      return chance(broken_) ? kWrongIntegers[below(std::size(kWrongIntegers))]
                             : kRightIntegers[below(std::size(kRightIntegers))];
    case ignition::MemberType::kBool: return chance(0.5);
    default: return json::Value(text(path));
  }
}

json::Value IgnitionGenerator::member(const ignition::Member& member, const std::string& path) {
  if (chance(odd_)) {
    const json::Value odd[] = {json::Value(nullptr),
                               json::Value(7),
                               json::Value("x"),
                               json::Value(true),
                               json::Value(1.5),
                               json::Value(json::Array{json::Value(nullptr)}),
                               json::Value(json::Object{}),
                               json::Value(json::Array{})};
    return odd[below(std::size(odd))];
  }
  switch (member.type) {
    case ignition::MemberType::kObject: return object(*member.element, path);
    case ignition::MemberType::kObjectList:
    case ignition::MemberType::kStringList: {
      json::Array items;
      for (std::size_t left = below(4); left > 0; --left) {
        if (member.type == ignition::MemberType::kStringList) {
          items.emplace_back(text(path));
        } else {
          items.emplace_back(object(*member.element, path));
        }
      }
      return items;
    }
    default: return scalar(member, path);
  }
}

json::Object IgnitionGenerator::object(const ignition::StructSchema& schema, const std::string& path) {
  json::Object made;
  for (const ignition::Member& known : schema.members) {
    const std::string member_path = path.empty() ? std::string(known.name) : fmt::format("{}.{}", path, known.name);
    const bool newer = known.since_minor > version_.minor;
    const bool is_key = known.name == schema.key || member_path == "storage.luks.device" ||
                        known.name == "thumbprint" || known.name == "target" || known.name == "level" ||
                        known.name == "devices" || known.name == "filesystem" || known.name == "format";
    const double wanted = newer ? odd_ : is_key ? 1 - broken_ / 4 : path.empty() ? 0.6 : 0.4;
    // In spec 3.2 null means something else for the two objects that were optional there; see
    // docs/ignition-differences.md.
    if (!chance(wanted) || member_path == "ignition.version") continue;
    json::Value value = member(known, member_path);
    if (value.is_null() && (known.name == "clevis" || known.name == "custom")) continue;
    std::string name(known.name);
    if (!path.empty() && chance(odd_ / 4)) name[0] = static_cast<char>(name[0] - ('a' - 'A'));
    if (!newer) ++members_[member_path];
    made[name] = std::move(value);
  }
  if (version_.major == 2 && !chance(broken_)) {
    if (path == "storage.filesystems" && !made.contains("mount") && !made.contains("path")) made["path"] = "/sysroot";
    if (path == "storage.filesystems") keep_one(made, "mount", {"path"});
    if (path == "storage.filesystems.mount") keep_one(made, "create", {"wipeFilesystem", "options"});
    if (path == "storage.files") keep_one(made, "overwrite", {"append"});
    if (path == "passwd.users") {
      keep_one(made, "create",
               {"gecos", "groups", "homeDir", "noCreateHome", "noLogInit", "noUserGroup", "primaryGroup", "shell",
                "system", "uid"});
    }
  }
  if (chance(odd_)) made["unknown"] = json::Array{json::Object{{"path", "x"}}};
  return made;
}

json::Value IgnitionGenerator::config(ignition::SpecVersion version) {
  version_ = version;
  constexpr double kBroken[] = {0, 0, 0.02, 0.1, 0.4};
  broken_ = kBroken[below(std::size(kBroken))];
  odd_ = chance(0.2) ? 0.01 : 0;
  json::Value config = object(ignition::config_schema(version), "");
  json::Value& own = config.get_object()["ignition"];
  if (!own.is_object()) {
    if (odd_ > 0 && chance(0.5)) return config;
    own.emplace_object();
  }
  constexpr std::string_view kVersions[] = {"", "3", "3.5", "3.9.0", "3.5.1", "2.9.0", "3.5.0-dev", "x.y.z"};
  own.get_object()["version"] = broken_ > 0.3 && chance(0.05) ? std::string(kVersions[below(std::size(kVersions))])
                                                              : ignition::to_string(version);
  ++members_["ignition.version"];
  return config;
}

}  // namespace strake::test
