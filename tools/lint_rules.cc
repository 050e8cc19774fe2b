#include "lint_rules.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/core.h>

namespace strake::lint {

namespace {

constexpr std::size_t kHardLineLimit = 1000;
constexpr std::size_t kMostFilesInAFolder = 60;

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> table_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  line = trim(line);
  if (line.size() < 2 || line.front() != '|') return cells;
  line.remove_prefix(1);
  while (!line.empty()) {
    const std::size_t end = line.find('|');
    if (end == std::string_view::npos) break;
    cells.push_back(trim(line.substr(0, end)));
    line.remove_prefix(end + 1);
  }
  return cells;
}

/// "kube" for src/kube/...; "" for files outside src.
std::string module_of(std::string_view path) {
  constexpr std::string_view kPrefix = "src/";
  if (!path.starts_with(kPrefix)) return "";
  path.remove_prefix(kPrefix.size());
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

/// The code of a line: comments and the insides of string literals removed, so that words in prose are not findings.
std::string code_of(std::string_view line) {
  std::string code;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_string) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == '"') {
        in_string = false;
      }
      continue;
    }
    if (line[i] == '"') {
      in_string = true;
      continue;
    }
    if (line[i] == '/' && i + 1 < line.size() && line[i + 1] == '/') break;
    code += line[i];
  }
  return code;
}

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// `word` in `code` as a whole word (a word that ends in '(' needs only its left border checked).
bool has_word(std::string_view code, std::string_view word) {
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const bool left = at == 0 || !is_word_char(code[at - 1]);
    const std::size_t after = at + word.size();
    const bool right = !is_word_char(word.back()) || after >= code.size() || !is_word_char(code[after]);
    if (left && right) return true;
  }
  return false;
}

struct WaitingWord {
  std::string_view word;
  std::string_view instead;
};

constexpr std::array kWaitingWords{
    WaitingWord{"std::thread", "Runtime::spawn"},
    WaitingWord{"std::jthread", "Runtime::spawn"},
    WaitingWord{"pthread_create", "Runtime::spawn"},
    WaitingWord{"sleep_for", "Runtime::sleep"},
    WaitingWord{"sleep_until", "Runtime::sleep"},
    WaitingWord{"usleep(", "Runtime::sleep"},
    WaitingWord{"nanosleep(", "Runtime::sleep"},
    WaitingWord{"sleep(", "Runtime::sleep"},
    WaitingWord{"condition_variable", "runtime::Condition"},
    WaitingWord{"condition_variable_any", "runtime::Condition"},
    WaitingWord{"std::future", "runtime::Queue"},
    WaitingWord{"std::promise", "runtime::Queue"},
    WaitingWord{"std::async", "Runtime::spawn"},
    WaitingWord{"binary_semaphore", "runtime::Condition"},
    WaitingWord{"counting_semaphore", "runtime::Condition"},
    WaitingWord{"std::latch", "runtime::Condition"},
    WaitingWord{"std::barrier", "runtime::Condition"},
    WaitingWord{"poll(", "net or base/subprocess"},
    WaitingWord{"ppoll(", "net or base/subprocess"},
    WaitingWord{"select(", "net or base/subprocess"},
    WaitingWord{"epoll_wait", "net"},
    WaitingWord{"epoll_create1", "net"},
};

bool may_wait(std::string_view path) {
  return path == "src/base/runtime.h" || path == "src/base/runtime.cc" || path == "src/base/simulation.cc" ||
         path == "src/base/signal_stop.cc" || path == "src/base/subprocess.cc" || path.starts_with("src/net/");
}

/// `runtime.sleep(` and `runtime_->sleep(` are the seam itself.
bool is_member_call(std::string_view code, std::string_view word) {
  const std::size_t at = code.find(word);
  return at != std::string_view::npos && at > 0 &&
         (code[at - 1] == '.' || (at > 1 && code.substr(at - 2, 2) == "->") ||
          (at > 1 && code.substr(at - 2, 2) == "::"));
}

constexpr std::array kPrintingWords{
    std::string_view("std::cout"), std::string_view("std::cerr"),    std::string_view("printf"),
    std::string_view("fprintf"),   std::string_view("fwrite"),       std::string_view("fputs"),
    std::string_view("puts"),      std::string_view("fmt::print"),   std::string_view("putchar"),
    std::string_view("stdout"),    std::string_view("stderr"),       std::string_view("FdSink"),
    std::string_view("dprintf"),   std::string_view("STDOUT_FILENO")};

constexpr std::array kPrivateHeaders{
    std::string_view("<boost/asio"), std::string_view("<boost/beast"), std::string_view("<boost/url"),
    std::string_view("<CLI/"),       std::string_view("<spdlog/"),     std::string_view("<yaml-cpp/"),
    std::string_view("<gmock/"),     std::string_view("<curl/"),       std::string_view("<sqlite3.h"),
    std::string_view("<openssl/"),   std::string_view("<archive"),     std::string_view("<zstd"),
    std::string_view("<zlib"),       std::string_view("<lzma"),        std::string_view("<re2/"),
    std::string_view("<regex>"),     std::string_view("<thread>"),     std::string_view("<condition_variable>"),
    std::string_view("<future>"),
};

}  // namespace

std::string Finding::to_string() const {
  return line == 0 ? fmt::format("{}: {}", path, message) : fmt::format("{}:{}: {}", path, line, message);
}

EdgeTable parse_edge_table(std::string_view architecture_markdown, std::vector<Finding>& findings) {
  EdgeTable edges;
  bool in_section = false;
  for (const std::string_view line : split_lines(architecture_markdown)) {
    if (line.starts_with("## ")) in_section = trim(line.substr(3)) == "Edges";
    if (!in_section) continue;
    const auto cells = table_cells(line);
    if (cells.size() < 2 || cells[0] == "module" || cells[0].starts_with("-")) continue;
    auto& allowed = edges[std::string(cells[0])];
    std::string_view rest = cells[1];
    while (!rest.empty()) {
      const std::size_t space = rest.find(' ');
      if (const auto name = trim(rest.substr(0, space)); !name.empty()) allowed.emplace(name);
      if (space == std::string_view::npos) break;
      rest.remove_prefix(space + 1);
    }
  }
  if (edges.empty()) findings.push_back({"docs/ARCHITECTURE.md", 0, "no table of modules under '## Edges'"});
  for (const auto& [module, allowed] : edges) {
    for (const auto& target : allowed) {
      const auto found = edges.find(target);
      if (found == edges.end()) {
        findings.push_back(
            {"docs/ARCHITECTURE.md", 0, fmt::format("'{}' may include '{}', which is no module", module, target)});
      } else if (found->second.contains(module)) {
        findings.push_back(
            {"docs/ARCHITECTURE.md", 0, fmt::format("'{}' and '{}' may include each other", module, target)});
      }
    }
  }
  return edges;
}

namespace {

/// The first folder of each `#include "folder/..."` with its line number.
std::vector<std::pair<std::size_t, std::string>> included_folders(const SourceFile& file) {
  std::vector<std::pair<std::size_t, std::string>> folders;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    const std::string_view code = trim(line);
    constexpr std::string_view kInclude = "#include \"";
    if (!code.starts_with(kInclude)) continue;
    const std::string_view path = code.substr(kInclude.size());
    const std::size_t slash = path.find('/');
    if (slash != std::string_view::npos) folders.emplace_back(number, path.substr(0, slash));
  }
  return folders;
}

}  // namespace

void check_includes(const SourceFile& file, const EdgeTable& edges, std::vector<Finding>& findings) {
  const std::string module = module_of(file.path);
  if (module.empty()) return;
  const auto own = edges.find(module);
  if (own == edges.end()) {
    findings.push_back(
        {file.path, 0, fmt::format("module '{}' is not in the edge table of docs/ARCHITECTURE.md", module)});
    return;
  }
  const bool is_test = file.path.ends_with("_test.cc") || file.path.find("/testing/") != std::string::npos;
  for (const auto& [number, target] : included_folders(file)) {
    if (target == module || own->second.contains(target)) continue;
    if (target == "support" && is_test) continue;  // test/support serves every module's tests
    if (!edges.contains(target)) {
      if (target != "support") continue;  // a folder of the module's own, such as "testing/..."
      findings.push_back({file.path, number, "only tests may include test/support"});
      continue;
    }
    findings.push_back(
        {file.path, number,
         fmt::format("'{}' may not include '{}': the edge is not in docs/ARCHITECTURE.md", module, target)});
  }
}

void check_unused_edges(const std::vector<SourceFile>& sources, const EdgeTable& edges,
                        std::vector<Finding>& findings) {
  EdgeTable used;
  for (const SourceFile& file : sources) {
    const std::string module = module_of(file.path);
    if (module.empty()) continue;
    for (const auto& [number, target] : included_folders(file)) used[module].insert(target);
  }
  for (const auto& [module, allowed] : edges) {
    for (const std::string& target : allowed) {
      if (used[module].contains(target)) continue;
      findings.push_back(
          {"docs/ARCHITECTURE.md", 0, fmt::format("'{}' includes nothing of '{}': take the edge out", module, target)});
    }
  }
}

void check_folders(const std::vector<SourceFile>& sources, std::vector<Finding>& findings) {
  std::map<std::string, std::size_t> files;
  for (const SourceFile& file : sources) {
    if (file.path.starts_with("src/")) ++files[file.path.substr(0, file.path.rfind('/'))];
  }
  for (const auto& [folder, count] : files) {
    if (count <= kMostFilesInAFolder) continue;
    findings.push_back(
        {folder, 0, fmt::format("{} sources: make sub-folders ({} is the limit)", count, kMostFilesInAFolder)});
  }
}

void check_waiting(const SourceFile& file, std::vector<Finding>& findings) {
  std::size_t number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    const std::string code = code_of(line);
    if (has_word(code, "co_await") || has_word(code, "co_return") || has_word(code, "co_yield")) {
      findings.push_back({file.path, number, "no coroutines: g++ 12.2 miscompiles them"});
    }
    if (may_wait(file.path)) continue;
    for (const auto& [word, instead] : kWaitingWords) {
      if (!has_word(code, word) || (word == "sleep(" && is_member_call(code, word)) ||
          ((word == "poll(" || word == "select(") && is_member_call(code, word))) {
        continue;
      }
      const std::string_view shown = word.ends_with('(') ? word.substr(0, word.size() - 1) : word;
      findings.push_back({file.path, number, fmt::format("'{}' waits outside base/runtime: use {}", shown, instead)});
    }
  }
}

void check_public_headers(const SourceFile& file, std::vector<Finding>& findings) {
  if (!file.path.ends_with(".h") || file.path.starts_with("test/")) return;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    const std::string_view code = trim(line);
    if (!code.starts_with("#include ")) continue;
    for (const std::string_view header : kPrivateHeaders) {
      if (code.find(header) != std::string_view::npos) {
        findings.push_back(
            {file.path, number, fmt::format("{} belongs inside a .cc, not in a header", trim(code.substr(9)))});
      }
    }
    if (code.find("<boost/json") != std::string_view::npos && file.path != "src/codec/json.h") {
      findings.push_back({file.path, number, "Boost.JSON enters through codec/json.h only"});
    }
  }
}

void check_logging(const SourceFile& file, std::vector<Finding>& findings) {
  if (!file.path.starts_with("src/") || file.path.ends_with("_test.cc") ||
      file.path.find("/testing/") != std::string::npos) {
    return;
  }
  const std::string module = module_of(file.path);
  const bool is_program = module == "cmd";
  const bool may_log = is_program || module == "controlplane" || file.path.starts_with("src/base/log.");
  // Where a broken invariant says so, there is no log to say it to.
  const bool may_write = is_program || file.path == "src/base/result.cc";
  std::size_t number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    if (!may_log && trim(line).starts_with("#include \"base/log.h\"")) {
      findings.push_back({file.path, number, "libraries do not log: return an error or call a hook"});
    }
    if (may_write) continue;
    const std::string code = code_of(line);
    for (const std::string_view word : {"stderr", "std::cerr", "std::clog", "perror(", "syslog("}) {
      if (!has_word(code, word)) continue;
      findings.push_back(
          {file.path, number,
           fmt::format("'{}' outside src/cmd: return an error, or use base/log in src/controlplane", word)});
    }
  }
}

namespace {

constexpr std::string_view kKindSections[] = {"spec", "status"};

/// "spec.paused" of every path in a FieldTable of src/api: the first two steps are enough to know it by.
std::set<std::string> own_fields(const std::vector<SourceFile>& sources) {
  std::set<std::string> fields;
  for (const SourceFile& file : sources) {
    if (module_of(file.path) != "api" || !file.path.ends_with(".h")) continue;
    for (std::string_view line : split_lines(file.text)) {
      while (true) {
        const std::size_t open = line.find('"');
        if (open == std::string_view::npos) break;
        line.remove_prefix(open + 1);
        const std::string_view text = line.substr(0, line.find('"'));
        line.remove_prefix(std::min(line.size(), text.size() + 1));
        const std::size_t dot = text.find('.');
        if (dot == std::string_view::npos) continue;
        if (std::find(std::begin(kKindSections), std::end(kKindSections), text.substr(0, dot)) ==
            std::end(kKindSections))
          continue;
        fields.emplace(text.substr(0, text.find_first_of(".[", dot + 1)));
      }
    }
  }
  return fields;
}

/// The step after `section` where a line spells both: {"spec", "paused"} or {"spec", json::Object{{"paused", ...
std::string_view step_after(std::string_view line, std::string_view section) {
  const std::string quoted = fmt::format("\"{}\", ", section);
  const std::size_t at = line.find(quoted);
  if (at == std::string_view::npos) return "";
  line.remove_prefix(at + quoted.size());
  constexpr std::string_view kNested = "json::Object{{";
  if (line.starts_with(kNested)) line.remove_prefix(kNested.size());
  if (!line.starts_with('"')) return "";
  line.remove_prefix(1);
  return line.substr(0, line.find('"'));
}

/// The servers of all kinds know none of them by name.
bool may_spell_fields(const std::string& module) {
  return module.empty() || module == "api" || module == "apistore" || module == "kube";
}

}  // namespace

void check_own_kinds(const std::vector<SourceFile>& sources, std::vector<Finding>& findings) {
  const std::set<std::string> fields = own_fields(sources);
  constexpr std::string_view kMark = "\"machineconfiguration.openshift.io/";
  for (const SourceFile& file : sources) {
    const bool is_test = file.path.ends_with("_test.cc") || file.path.find("/testing/") != std::string::npos;
    if (is_test || may_spell_fields(module_of(file.path))) continue;
    std::size_t number = 0;
    for (const std::string_view line : split_lines(file.text)) {
      ++number;
      if (trim(line).starts_with("//")) continue;
      for (const std::string_view section : kKindSections) {
        const std::string field = fmt::format("{}.{}", section, step_after(line, section));
        if (!fields.contains(field)) continue;
        findings.push_back({file.path, number, fmt::format("{} is a field of ours: use its view in src/api", field)});
      }
      const std::size_t mark = line.find(kMark);
      if (mark == std::string_view::npos || line.substr(mark + kMark.size()).starts_with("v1\"")) continue;
      findings.push_back({file.path, number, "a mark on our objects: use api/node_annotations.h"});
    }
  }
}

void check_printing(const SourceFile& file, std::vector<Finding>& findings) {
  const bool is_verb_code = file.path.starts_with("src/cmd/") && !file.path.starts_with("src/cmd/output/");
  if (!is_verb_code || file.path == "src/cmd/main.cc" || file.path.ends_with("_test.cc")) return;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    const std::string code = code_of(line);
    for (const std::string_view word : kPrintingWords) {
      if (!has_word(code, word)) continue;
      findings.push_back({file.path, number, fmt::format("'{}' prints past cmd/output: use Invocation::out()", word)});
    }
  }
}

void check_size(const SourceFile& file, std::vector<Finding>& findings) {
  const auto lines = static_cast<std::size_t>(std::count(file.text.begin(), file.text.end(), '\n'));
  if (lines > kHardLineLimit) {
    findings.push_back({file.path, 0, fmt::format("{} lines: split it ({} is the hard limit)", lines, kHardLineLimit)});
  }
}

void check_metrics(std::string_view metrics_markdown, const std::vector<SourceFile>& sources,
                   std::vector<Finding>& findings) {
  std::set<std::string> documented, exported;
  for (const std::string_view line : split_lines(metrics_markdown)) {
    const auto cells = table_cells(line);
    if (cells.empty() || !cells[0].starts_with("`strake_")) continue;
    documented.emplace(cells[0].substr(1, cells[0].find('`', 1) - 1));
  }
  for (const SourceFile& file : sources) {
    if (!file.path.starts_with("src/") || !file.path.ends_with(".cc") || file.path.ends_with("_test.cc")) continue;
    const std::string_view text = file.text;
    for (const std::string_view maker : {"counter(", "gauge(", "histogram("}) {
      for (std::size_t at = text.find(maker); at != std::string_view::npos; at = text.find(maker, at + 1)) {
        const std::string_view argument = trim(text.substr(at + maker.size(), 200));
        if (!argument.starts_with("\"strake_")) continue;
        const std::string name(argument.substr(1, argument.find('"', 1) - 1));
        if (!exported.insert(name).second || documented.contains(name)) continue;
        findings.push_back({file.path, 0, fmt::format("metric '{}' has no row in docs/metrics.md", name)});
      }
    }
  }
  for (const std::string& name : documented) {
    if (exported.contains(name)) continue;
    findings.push_back({"docs/metrics.md", 0, fmt::format("metric '{}' is exported by nothing", name)});
  }
}

void check_behaviours(std::string_view behaviours_markdown, const std::vector<SourceFile>& sources,
                      std::vector<Finding>& findings) {
  std::set<std::string> tests;
  for (const SourceFile& file : sources) {
    for (const std::string_view line : split_lines(file.text)) {
      if (!line.starts_with("TEST")) continue;
      const std::size_t open = line.find('(');
      const std::size_t comma = line.find(',', open);
      const std::size_t close = line.find(')', comma);
      if (open == std::string_view::npos || comma == std::string_view::npos || close == std::string_view::npos)
        continue;
      tests.insert(fmt::format("{}.{}", trim(line.substr(open + 1, comma - open - 1)),
                               trim(line.substr(comma + 1, close - comma - 1))));
    }
  }
  std::size_t number = 0;
  for (const std::string_view line : split_lines(behaviours_markdown)) {
    ++number;
    const auto cells = table_cells(line);
    if (cells.size() < 3 || cells[0] == "row" || cells[0].starts_with("-")) continue;
    std::size_t named = 0;
    std::string_view rest = cells[2];
    while (true) {
      const std::size_t open = rest.find('`');
      const std::size_t close = open == std::string_view::npos ? open : rest.find('`', open + 1);
      if (close == std::string_view::npos) break;
      const std::string name(rest.substr(open + 1, close - open - 1));
      ++named;
      if (!tests.contains(name)) {
        findings.push_back({"docs/behaviours.md", number,
                            fmt::format("row {} names test '{}', which does not exist", cells[0], name)});
      }
      rest.remove_prefix(close + 1);
    }
    if (named == 0) findings.push_back({"docs/behaviours.md", number, fmt::format("row {} names no test", cells[0])});
  }
}

}  // namespace strake::lint
