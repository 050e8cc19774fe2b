#include "cmd/cli/man_page.h"

#include <algorithm>

#include "cmd/cli/help.h"
#include "cmd/version.h"

namespace strake::cmd {

namespace {

/// Text for roff: no character of it is a command or a typographic one.
std::string roff_text(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '`': out += "\\(ga"; break;
      case '\'': out += "\\(aq"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

/// An argument of a macro stands in quotes; a quote inside is doubled.
std::string macro_argument(std::string_view text) {
  std::string out;
  for (const char c : roff_text(text)) {
    if (c == '"') out += '"';
    out += c;
  }
  return "\"" + out + "\"";
}

std::string page_head(std::string_view name, std::string_view summary) {
  std::string title(name);
  std::ranges::transform(title, title.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return fmt::format(".TH {} 1 \"\" \"Strake {}\" \"Strake\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n", macro_argument(title),
                     kVersion, roff_text(name), roff_text(summary));
}

/// Paragraphs as they come, lines with leading blanks as they stand.
std::string roff_details(std::string_view details) {
  std::string out;
  bool as_is = false, wants_paragraph = false;
  const auto set_as_is = [&](bool wanted) {
    if (as_is != wanted) out += wanted ? ".PP\n.nf\n" : ".fi\n.PP\n";
    as_is = wanted;
  };
  while (!details.empty()) {
    const std::size_t end = details.find('\n');
    const std::string_view line = details.substr(0, end);
    details.remove_prefix(end == std::string_view::npos ? details.size() : end + 1);
    if (line.empty()) {
      wants_paragraph = true;
      continue;
    }
    const bool line_as_is = line.starts_with("  ");
    if (wants_paragraph && as_is == line_as_is) out += as_is ? ".sp\n" : ".PP\n";
    wants_paragraph = false;
    set_as_is(line_as_is);
    out += roff_text(line) + "\n";
  }
  set_as_is(false);
  // A page ends with text, not with the wish for more.
  constexpr std::string_view kParagraph = ".PP\n";
  while (out.ends_with(kParagraph)) out.resize(out.size() - kParagraph.size());
  return out;
}

std::string roff_item(std::string_view what, std::string_view text) {
  const std::size_t blank = what.find_first_not_of(' ');
  return fmt::format(".TP\n.B {}\n{}\n", macro_argument(what.substr(blank)), roff_text(text));
}

}  // namespace

std::string man_page_name(const CommandSpec& spec) {
  std::string name = fmt::format("strake-{}", spec.path);
  std::ranges::replace(name, ' ', '-');
  return name + ".1";
}

std::string man_page(const CommandSpec& spec) {
  const std::string file = man_page_name(spec);
  std::string page = page_head(file.substr(0, file.size() - 2), spec.summary);
  page += fmt::format(".SH SYNOPSIS\n{}\n.SH DESCRIPTION\n{}", roff_text(usage_line(spec)), roff_details(spec.details));
  if (!spec.arguments.empty()) page += ".SH ARGUMENTS\n";
  for (const ArgumentSpec& argument : spec.arguments) page += roff_item(argument.name, argument.help);
  page += ".SH OPTIONS\n";
  for (const OptionSpec& option : spec.options) page += roff_item(option_words(option), option_help(option));
  for (const OptionSpec& option : common_options()) page += roff_item(option_words(option), option_help(option));
  page += roff_item("-h, --help", "print the help and exit");
  page += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : exit_codes_of(spec)) {
    page += roff_item(fmt::format("{}", static_cast<int>(exit.code)), exit.meaning);
  }
  return page + ".SH SEE ALSO\n.BR strake (1)\n";
}

std::string program_man_page(std::span<const CommandSpec* const> commands) {
  std::string page = page_head("strake", "manage the operating system of image-based clusters");
  page += ".SH SYNOPSIS\nstrake VERB [OPTIONS]\n.SH DESCRIPTION\n";
  page += roff_text(
      "The images machines boot from, the image each node runs, and the configuration layered on it, from one verified "
      "release to the next. Each verb has a page of its own.\n");
  page += ".SH VERBS\n";
  for (const CommandSpec* spec : commands) {
    const std::string file = man_page_name(*spec);
    page += fmt::format(".TP\n.BR {} (1)\n{}\n", roff_text(file.substr(0, file.size() - 2)), roff_text(spec->summary));
  }
  return page;
}

}  // namespace strake::cmd
