#include "ostree/variant.h"

#include <algorithm>
#include <optional>

#include "codec/utf8.h"

namespace strake::ostree {

namespace {

/// Of a type string: long enough for everything that nests within the limits, short enough to scan again and again.
constexpr std::size_t kMaxTypeBytes = 255;

struct TypeShape {
  std::size_t alignment = 1;
  std::size_t fixed_size = 0;  ///< 0: values differ in size
};

std::size_t align_up(std::size_t at, std::size_t alignment) { return (at + alignment - 1) / alignment * alignment; }

/// How long the first complete type is; 0 when there is none.
std::size_t first_type_size(std::string_view types, std::size_t depth_left) {
  if (types.empty() || depth_left == 0) return 0;
  const char kind = types.front();
  if (std::string_view("bynqiuhxtdsogv").find(kind) != std::string_view::npos) return 1;
  if (kind == 'a' || kind == 'm') {
    const std::size_t inner = first_type_size(types.substr(1), depth_left - 1);
    return inner == 0 ? 0 : inner + 1;
  }
  if (kind != '(' && kind != '{') return 0;
  const char closing = kind == '(' ? ')' : '}';
  std::size_t at = 1;
  std::size_t members = 0;
  while (at < types.size() && types[at] != closing) {
    const std::size_t member = first_type_size(types.substr(at), depth_left - 1);
    if (member == 0) return 0;
    // The key of an entry is a basic type.
    if (kind == '{' && members == 0 && std::string_view("amv({").find(types[at]) != std::string_view::npos) return 0;
    at += member;
    ++members;
  }
  if (at >= types.size() || (kind == '{' && members != 2)) return 0;
  return at + 1;
}

bool is_one_type(std::string_view type, std::size_t max_depth) {
  return type.size() <= kMaxTypeBytes && !type.empty() && first_type_size(type, max_depth) == type.size();
}

/// The members' types of a tuple or an entry, one after the other; the type must be valid.
template <typename Visit>
void for_each_member(std::string_view type, const Visit& visit) {
  std::string_view rest = type.substr(1, type.size() - 2);
  while (!rest.empty()) {
    const std::size_t size = first_type_size(rest, kMaxTypeBytes);
    visit(rest.substr(0, size));
    rest.remove_prefix(size);
  }
}

TypeShape shape_of(std::string_view type) {
  switch (type.front()) {
    case 'b':
    case 'y': return {1, 1};
    case 'n':
    case 'q': return {2, 2};
    case 'i':
    case 'u':
    case 'h': return {4, 4};
    case 'x':
    case 't':
    case 'd': return {8, 8};
    case 'v': return {8, 0};
    case 'a':
    case 'm': return {shape_of(type.substr(1)).alignment, 0};
    case '(':
    case '{': {
      TypeShape shape;
      std::size_t size = 0;
      bool fixed = true;
      for_each_member(type, [&](std::string_view member) {
        const TypeShape inner = shape_of(member);
        shape.alignment = std::max(shape.alignment, inner.alignment);
        fixed = fixed && inner.fixed_size != 0;
        size = align_up(size, inner.alignment) + inner.fixed_size;
      });
      // A tuple of nothing takes one byte.
      if (fixed) shape.fixed_size = std::max<std::size_t>(align_up(size, shape.alignment), 1);
      return shape;
    }
    default: return {1, 0};  // s, o, g
  }
}

std::uint64_t read_little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  return value;
}

void append_little_endian(std::string& out, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

/// Of the offsets in a container of this size.
std::size_t offset_size(std::size_t container_size) {
  if (container_size <= 0xff) return 1;
  if (container_size <= 0xffff) return 2;
  if (container_size <= 0xffffffff) return 4;
  return 8;
}

class Decoding {
 public:
  explicit Decoding(const VariantLimits& limits) : limits_(limits) {}

  Result<Variant> decode(std::string_view type, std::string_view bytes, std::size_t depth) {
    if (depth > limits_.max_depth) {
      return error(Code::kExhausted, "values are nested more than {} deep", limits_.max_depth);
    }
    if (++nodes_ > limits_.max_nodes)
      return error(Code::kExhausted, "there are more than {} values", limits_.max_nodes);
    switch (type.front()) {
      case 's':
      case 'o':
      case 'g': return text(type, bytes);
      case 'v': return boxed(bytes, depth);
      case 'm': return maybe(type, bytes, depth);
      case 'a': return array(type, bytes, depth);
      case '(':
      case '{': return tuple(type, bytes, depth);
      default: break;
    }
    const std::size_t size = shape_of(type).fixed_size;
    if (bytes.size() != size) return damaged(type, "has the wrong size");
    const std::uint64_t number = read_little_endian(bytes);
    if (type == "b" && number > 1) return damaged(type, "is neither true nor false");
    return Variant{std::string(type), number};
  }

 private:
  static Error damaged(std::string_view type, std::string_view why) {
    return error(Code::kCorrupt, "a value of type {} {}", type, why);
  }

  static Result<Variant> text(std::string_view type, std::string_view bytes) {
    if (bytes.empty() || bytes.find('\0') != bytes.size() - 1) {
      return damaged(type, "is not a text that ends with its only zero byte");
    }
    bytes.remove_suffix(1);
    if (!codec::is_valid_utf8(bytes)) return damaged(type, "is not UTF-8");
    return Variant{std::string(type), 0, std::string(bytes)};
  }

  Result<Variant> boxed(std::string_view bytes, std::size_t depth) {
    const std::size_t zero = bytes.rfind('\0');
    if (zero == std::string_view::npos) return damaged("v", "does not say its type");
    const std::string_view inner = bytes.substr(zero + 1);
    if (!is_one_type(inner, limits_.max_depth)) return damaged("v", "does not say its type");
    STRAKE_TRY(Variant value, decode(inner, bytes.substr(0, zero), depth + 1));
    return Variant::boxed(std::move(value));
  }

  Result<Variant> maybe(std::string_view type, std::string_view bytes, std::size_t depth) {
    Variant value{std::string(type)};
    if (bytes.empty()) return value;
    const std::string_view element = type.substr(1);
    if (shape_of(element).fixed_size == 0) {
      if (bytes.back() != '\0') return damaged(type, "has no zero byte after its value");
      bytes.remove_suffix(1);
    }
    STRAKE_TRY(Variant inner, decode(element, bytes, depth + 1));
    value.items.push_back(std::move(inner));
    return value;
  }

  Result<Variant> array(std::string_view type, std::string_view bytes, std::size_t depth) {
    if (type == "ay") return Variant::bytes(bytes);
    Variant value{std::string(type)};
    if (bytes.empty()) return value;
    const std::string_view element = type.substr(1);
    const TypeShape shape = shape_of(element);
    if (shape.fixed_size != 0) {
      if (bytes.size() % shape.fixed_size != 0) return damaged(type, "ends in the middle of an item");
      for (; !bytes.empty(); bytes.remove_prefix(shape.fixed_size)) {
        STRAKE_TRY(Variant item, decode(element, bytes.substr(0, shape.fixed_size), depth + 1));
        value.items.push_back(std::move(item));
      }
      return value;
    }
    const std::size_t width = offset_size(bytes.size());
    const std::uint64_t table = read_little_endian(bytes.substr(bytes.size() - width));
    if (table > bytes.size() || (bytes.size() - table) % width != 0) return damaged(type, "has a damaged offset table");
    std::size_t start = 0;
    for (std::size_t at = static_cast<std::size_t>(table); at < bytes.size(); at += width) {
      const std::uint64_t end = read_little_endian(bytes.substr(at, width));
      start = align_up(start, shape.alignment);
      if (end < start || end > table) return damaged(type, "has offsets that lead astray");
      STRAKE_TRY(Variant item, decode(element, bytes.substr(start, static_cast<std::size_t>(end) - start), depth + 1));
      value.items.push_back(std::move(item));
      start = static_cast<std::size_t>(end);
    }
    return value;
  }

  Result<Variant> tuple(std::string_view type, std::string_view bytes, std::size_t depth) {
    const TypeShape own = shape_of(type);
    if (own.fixed_size != 0 && bytes.size() != own.fixed_size) return damaged(type, "has the wrong size");
    Variant value{std::string(type)};
    const std::size_t width = offset_size(bytes.size());
    std::size_t table = bytes.size();  // offsets are stored from the end backwards
    std::size_t at = 0;
    std::string_view rest = type.substr(1, type.size() - 2);
    while (!rest.empty()) {
      const std::string_view member = rest.substr(0, first_type_size(rest, kMaxTypeBytes));
      rest.remove_prefix(member.size());
      const TypeShape shape = shape_of(member);
      at = align_up(at, shape.alignment);
      std::uint64_t end = table;  // the last member takes what is left
      if (shape.fixed_size != 0) {
        end = at + shape.fixed_size;
      } else if (!rest.empty()) {
        if (table < width) return damaged(type, "is too short for its offsets");
        table -= width;
        end = read_little_endian(bytes.substr(table, width));
      }
      if (end < at || end > table) return damaged(type, "has offsets that lead astray");
      STRAKE_TRY(Variant item, decode(member, bytes.substr(at, static_cast<std::size_t>(end) - at), depth + 1));
      value.items.push_back(std::move(item));
      at = static_cast<std::size_t>(end);
    }
    return value;
  }

  const VariantLimits& limits_;
  std::size_t nodes_ = 0;
};

/// `body` and the ends of its parts become a container: the smallest offsets that can say its whole size.
std::string with_offsets(std::string body, const std::vector<std::size_t>& ends, bool backwards) {
  std::size_t width = 1;
  while (offset_size(body.size() + ends.size() * width) > width) width *= 2;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    append_little_endian(body, ends[backwards ? ends.size() - 1 - i : i], width);
  }
  return body;
}

std::string encode_tuple(const Variant& value) {
  std::string body;
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const TypeShape shape = shape_of(value.items[i].type);
    body.resize(align_up(body.size(), shape.alignment));
    body += encode_variant(value.items[i]);
    if (shape.fixed_size == 0 && i + 1 < value.items.size()) ends.push_back(body.size());
  }
  const TypeShape own = shape_of(value.type);
  if (own.fixed_size != 0) {
    body.resize(own.fixed_size);
    return body;
  }
  return with_offsets(std::move(body), ends, true);
}

std::string encode_array(const Variant& value) {
  if (value.type == "ay") return value.text;
  const TypeShape shape = shape_of(std::string_view(value.type).substr(1));
  std::string body;
  std::vector<std::size_t> ends;
  for (const Variant& item : value.items) {
    body.resize(align_up(body.size(), shape.alignment));
    body += encode_variant(item);
    if (shape.fixed_size == 0) ends.push_back(body.size());
  }
  return with_offsets(std::move(body), ends, false);
}

}  // namespace

Variant Variant::tuple(std::vector<Variant> items) {
  std::string type = "(";
  for (const Variant& item : items) type += item.type;
  type += ')';
  return {std::move(type), 0, {}, std::move(items)};
}

Variant Variant::array(std::string_view element_type, std::vector<Variant> items) {
  return {"a" + std::string(element_type), 0, {}, std::move(items)};
}

Result<Variant> decode_variant(std::string_view type, std::string_view bytes, const VariantLimits& limits) {
  STRAKE_INVARIANT(is_one_type(type, limits.max_depth));
  STRAKE_TRY(Variant value, Decoding(limits).decode(type, bytes, 0));
  if (encode_variant(value) != bytes) {
    return error(Code::kCorrupt, "a value of type {} is not in normal form", type);
  }
  return value;
}

std::string encode_variant(const Variant& value) {
  switch (value.type.front()) {
    case 's':
    case 'o':
    case 'g': return value.text + '\0';
    case 'v': return encode_variant(value.items.front()) + '\0' + value.items.front().type;
    case 'm': {
      if (value.items.empty()) return {};
      std::string bytes = encode_variant(value.items.front());
      if (shape_of(value.items.front().type).fixed_size == 0) bytes += '\0';
      return bytes;
    }
    case 'a': return encode_array(value);
    case '(':
    case '{': return encode_tuple(value);
    default: break;
  }
  std::string bytes;
  append_little_endian(bytes, value.number, shape_of(value.type).fixed_size);
  return bytes;
}

const Variant* find_entry(const Variant& dictionary, std::string_view key) {
  for (const Variant& entry : dictionary.items) {
    if (entry.items.front().text == key) return &entry.items.back().items.front();
  }
  return nullptr;
}

}  // namespace strake::ostree
