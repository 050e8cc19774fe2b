#include "cmd/cli/completion.h"

#include <algorithm>

#include "base/text.h"

#include <fmt/ranges.h>

namespace strake::cmd {

namespace {

/// What may stand at a place: these words, or files.
struct Offer {
  std::vector<std::string> words{};
  bool files = false;
};

void add_word(std::vector<std::string>& words, std::string_view word) {
  if (std::ranges::find(words, word) == words.end()) words.emplace_back(word);
}

/// "" and every group and verb, each with the words that may follow it.
struct PathWords {
  std::string path;
  std::vector<std::string> next{};
};

std::vector<PathWords> inner_paths(std::span<const CommandSpec* const> commands) {
  std::vector<PathWords> paths{{""}};
  for (const CommandSpec* spec : commands) {
    std::string before;
    for (const std::string_view word : split(spec->path, ' ')) {
      auto found = std::ranges::find(paths, before, &PathWords::path);
      if (found == paths.end()) found = paths.insert(paths.end(), {before});
      add_word(found->next, word);
      before += before.empty() ? word : fmt::format(" {}", word);
    }
  }
  return paths;
}

Offer offer_of(const ValueType& type) {
  Offer offer;
  for (const std::string_view word : type.words) add_word(offer.words, word);
  offer.files = type.kind == ValueKind::kFile || type.kind == ValueKind::kFolder;
  return offer;
}

std::vector<OptionSpec> options_of(const CommandSpec& spec) {
  std::vector<OptionSpec> options(spec.options.begin(), spec.options.end());
  options.insert(options.end(), common_options().begin(), common_options().end());
  return options;
}

std::vector<std::string> option_names(const CommandSpec& spec) {
  std::vector<std::string> names;
  for (const OptionSpec& option : options_of(spec)) {
    if (!short_name(option).empty()) names.push_back(fmt::format("-{}", short_name(option)));
    names.push_back(fmt::format("--{}", long_name(option)));
  }
  names.emplace_back("--help");
  return names;
}

/// A reference such as ./FOLDER is text to us and a file to whoever types it.
Offer offer_of_arguments(const CommandSpec& spec) {
  Offer offer;
  for (const ArgumentSpec& argument : spec.arguments) {
    const Offer own = offer_of(argument.type);
    for (const std::string& word : own.words) add_word(offer.words, word);
    offer.files = offer.files || own.files || argument.type.kind == ValueKind::kText;
  }
  return offer;
}

/// "' up'|'release apply'": every word that leads on, behind the path it stands behind.
std::string known_steps(std::span<const CommandSpec* const> commands, std::string_view separator) {
  std::vector<std::string> steps;
  for (const PathWords& path : inner_paths(commands)) {
    for (const std::string& word : path.next) steps.push_back(fmt::format("'{} {}'", path.path, word));
  }
  return fmt::format("{}", fmt::join(steps, separator));
}

/// The patterns "'plan:-o'|'plan:--output'" of one option of a verb.
std::string value_pattern(const CommandSpec& spec, const OptionSpec& option) {
  std::string pattern = fmt::format("'{}:--{}'", spec.path, long_name(option));
  if (!short_name(option).empty()) pattern = fmt::format("'{}:-{}'|{}", spec.path, short_name(option), pattern);
  return pattern;
}

std::string bash_offer(const Offer& offer, std::string_view indent) {
  std::string text;
  if (!offer.words.empty()) {
    text += fmt::format("{}COMPREPLY=($(compgen -W '{}' -- \"$cur\"))\n", indent, fmt::join(offer.words, " "));
  }
  if (offer.files) {
    text += fmt::format("{}compopt -o filenames 2>/dev/null\n", indent);
    text += fmt::format("{}mapfile -t -O \"${{#COMPREPLY[@]}}\" COMPREPLY < <(compgen -f -- \"$cur\")\n", indent);
  }
  return text.empty() ? fmt::format("{}:\n", indent) : text;
}

std::string bash_script(std::span<const CommandSpec* const> commands) {
  std::string text = fmt::format(R"(# bash completion for strake; load it with: source <(strake completion bash)
_strake() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb='' i
  COMPREPLY=()
  # bash takes --output=json apart at the equals sign.
  if [ "$cur" = '=' ]; then cur=''; elif [ "$prev" = '=' ]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$verb ${{COMP_WORDS[i]}}" in
      {}) verb=${{verb:+$verb }}${{COMP_WORDS[i]}} ;;
      *) break ;;
    esac
  done
  case "$verb:$prev" in
)",
                                 known_steps(commands, "|"));
  for (const CommandSpec* spec : commands) {
    for (const OptionSpec& option : options_of(*spec)) {
      if (option.value_name.empty()) continue;
      text += fmt::format("    {})\n{}      return ;;\n", value_pattern(*spec, option),
                          bash_offer(offer_of(option.type), "      "));
    }
  }
  text += "  esac\n  case \"$verb\" in\n";
  for (const PathWords& path : inner_paths(commands)) {
    text += fmt::format("    '{}') COMPREPLY=($(compgen -W '{}{}' -- \"$cur\")) ;;\n", path.path,
                        fmt::join(path.next, " "), path.path.empty() ? " --help --version" : " --help");
  }
  for (const CommandSpec* spec : commands) {
    text += fmt::format("    '{}')\n      if [ \"${{cur#-}}\" != \"$cur\" ]; then\n", spec->path);
    text += bash_offer({option_names(*spec)}, "        ");
    text += fmt::format("      else\n{}      fi ;;\n", bash_offer(offer_of_arguments(*spec), "        "));
  }
  return text + "  esac\n}\ncomplete -F _strake strake\n";
}

std::string zsh_offer(const Offer& offer, std::string_view indent) {
  std::string text;
  if (!offer.words.empty()) text += fmt::format("{}compadd -- {}\n", indent, fmt::join(offer.words, " "));
  if (offer.files) text += fmt::format("{}_files\n", indent);
  return text.empty() ? fmt::format("{}:\n", indent) : text;
}

std::string zsh_script(std::span<const CommandSpec* const> commands) {
  std::string text = fmt::format(R"(#compdef strake
# zsh completion for strake; load it with: source <(strake completion zsh)
_strake() {{
  local cur=${{words[CURRENT]}} prev=${{words[CURRENT-1]}} verb='' i
  for ((i = 2; i < CURRENT; i++)); do
    case "$verb ${{words[i]}}" in
      {}) verb=${{verb:+$verb }}${{words[i]}} ;;
      *) break ;;
    esac
  done
  case "$verb:$prev" in
)",
                                 known_steps(commands, "|"));
  for (const CommandSpec* spec : commands) {
    for (const OptionSpec& option : options_of(*spec)) {
      if (option.value_name.empty()) continue;
      text += fmt::format("    {})\n{}      return ;;\n", value_pattern(*spec, option),
                          zsh_offer(offer_of(option.type), "      "));
    }
  }
  text += "  esac\n  case \"$verb\" in\n";
  for (const PathWords& path : inner_paths(commands)) {
    text += fmt::format("    '{}') compadd -- {} --help ;;\n", path.path, fmt::join(path.next, " "));
  }
  for (const CommandSpec* spec : commands) {
    text += fmt::format("    '{}')\n      if [[ $cur == -* ]]; then\n", spec->path);
    text += zsh_offer({option_names(*spec)}, "        ");
    text += fmt::format("      else\n{}      fi ;;\n", zsh_offer(offer_of_arguments(*spec), "        "));
  }
  return text +
         "  esac\n}\nif [ \"$funcstack[1]\" = '_strake' ]; then _strake \"$@\"; else compdef _strake strake; fi\n";
}

/// In single quotes, as fish has them: only the quote and the backslash are special.
std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_option(const CommandSpec& spec, const OptionSpec& option) {
  const Offer offer = offer_of(option.type);
  std::string line = fmt::format("complete -c strake -n \"__strake_at '{}'\" -l {}", spec.path, long_name(option));
  if (!short_name(option).empty()) line += fmt::format(" -s {}", short_name(option));
  if (!option.value_name.empty()) line += offer.files ? " -r -F" : " -x";
  if (!offer.words.empty()) line += fmt::format(" -a '{}'", fmt::join(offer.words, " "));
  return line + fmt::format(" -d {}\n", fish_quoted(option.help));
}

std::string fish_script(std::span<const CommandSpec* const> commands) {
  std::string text = fmt::format(R"(# fish completion for strake; load it with: strake completion fish | source
function __strake_path
  set -l path ''
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
      case {}
        set path (string trim -- "$path $word")
      case '*'
        break
    end
  end
  echo $path
end
function __strake_at
  set -l path (__strake_path)
  test "$path" = "$argv[1]"
end
complete -c strake -f
)",
                                 known_steps(commands, " "));
  for (const PathWords& path : inner_paths(commands)) {
    text += fmt::format("complete -c strake -n \"__strake_at '{}'\" -a '{}'\n", path.path, fmt::join(path.next, " "));
  }
  for (const CommandSpec* spec : commands) {
    for (const OptionSpec& option : options_of(*spec)) text += fish_option(*spec, option);
    const Offer offer = offer_of_arguments(*spec);
    if (!offer.words.empty()) {
      text +=
          fmt::format("complete -c strake -n \"__strake_at '{}'\" -a '{}'\n", spec->path, fmt::join(offer.words, " "));
    }
    if (offer.files) text += fmt::format("complete -c strake -n \"__strake_at '{}'\" -F\n", spec->path);
  }
  return text;
}

}  // namespace

std::string completion_script(Shell shell, std::span<const CommandSpec* const> commands) {
  switch (shell) {
    case Shell::kBash: return bash_script(commands);
    case Shell::kZsh: return zsh_script(commands);
    case Shell::kFish: return fish_script(commands);
  }
  return "";
}

}  // namespace strake::cmd
