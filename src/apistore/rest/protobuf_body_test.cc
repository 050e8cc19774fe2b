#include "apistore/rest/protobuf_body.h"

#include <gtest/gtest.h>

#include "apistore/rest/answers.h"

namespace strake::apistore::rest::protobuf_body_test {

std::string bytes_of(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return bytes;
}

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  STRAKE_INVARIANT(value.ok());
  return *std::move(value);
}

struct Vector {
  const char* name;
  const char* hex;
  const char* json;
};
class ProtobufBodyTest : public testing::TestWithParam<Vector> {};

TEST_P(ProtobufBodyTest, BecomesTheJsonOfTheSameObject) {
  const auto decoded = decode_protobuf_body(bytes_of(GetParam().hex));
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  EXPECT_EQ(json::write_canonical(*decoded), json::write_canonical(parsed(GetParam().json)));
}

// Sent by kubectl 1.34.4.
INSTANTIATE_TEST_SUITE_P(
    Kubectl, ProtobufBodyTest,
    testing::Values(
        Vector{
            "create_namespace",
            "6b3873000a0f0a02763112094e616d657370616365121c0a140a046361703212001a0022002a0032003800420012001a020a001a"
            "002200",
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"cap2"},"spec":{},"status":{}})"},
        Vector{
            "create_configmap",
            "6b3873000a0f0a0276311209436f6e6669674d6170121f0a150a02633212001a0363617022002a0032003800420012060a016112"
            "01621a002200",
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c2","namespace":"cap"},"data":{"a":"b"}})"},
        Vector{
            "create_secret",
            "6b3873000a0c0a027631120653656372657412210a150a02733212001a0363617022002a0032003800420012060a016b1201761a"
            "001a002200",
            R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s2","namespace":"cap"},"data":{"k":"dg=="}})"},
        Vector{
            "create_pdb_with_a_number",
            "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412390a150a02703212001a036361"
            "7022002a0032003800420012140a06080010011a00120a0a080a036170701201781a0a080018002000280030001a002200",
            R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"p2","namespace":"cap"},
                   "spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}},
                   "status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}})"},
        Vector{
            "create_pdb_with_a_percentage",
            "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e427564676574123c0a150a02703312001a036361"
            "7022002a003200380042001217120a0a080a036170701201781a09080110001a033235251a0a080018002000280030001a002200",
            R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"p3","namespace":"cap"},
                   "spec":{"maxUnavailable":"25%","selector":{"matchLabels":{"app":"x"}}},
                   "status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}})"},
        Vector{"drain_without_eviction", "6b3873000a130a027631120d44656c6574654f7074696f6e73120208001a002200",
               R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0})"}),
    [](const auto& test) { return std::string(test.param.name); });

// Written by the Go types of Kubernetes 1.34, with the JSON the same objects have there.
INSTANTIATE_TEST_SUITE_P(
    Go, ProtobufBodyTest,
    testing::Values(
        Vector{
            "pod",
            "6b3873000a090a0276311203506f6412dc010a2d0a017012001a0022002a003200380042005a060a01611201626a120a044e6f64"
            "651a016e2201752a02763130001284010a090a0176120412020a0012580a016312016922017822002a00420f0a0d0a0363707512"
            "060a043530306d52280a1312110a001209080110001a037765621a0022001000180020ffffffffffffffffff01280030006a0072"
            "00800100880100900100a201001a002000320042004a0052016e5801600068008201008a01009a0100c201001a240a0752756e6e"
            "696e671a0022002a0032003a080880f2d6ca0610004a005a0072008801001a002200",
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"b"},"ownerReferences":[{"apiVersion"
                   :"v1","kind":"Node","name":"n","uid":"u","controller":false}]},"spec":{"volumes":[{"name":"v",
                   "emptyDir":{}}],"containers":[{"name":"c","image":"i","args":["x",""],"resources":{"limits":{"cpu":
                   "500m"}},"livenessProbe":{"httpGet":{"port":"web"},"periodSeconds":-1}}],
                   "terminationGracePeriodSeconds":0,"nodeName":"n","hostNetwork":true},
                   "status":{"phase":"Running","startTime":"2026-01-01T00:00:00Z"}})"},
        Vector{
            "node",
            "6b3873000a0a0a02763112044e6f6465128d010a110a016e12001a0022002a0032003800420012250a0012001a0020012a1b0a01"
            "6b12001a0a4e6f5363686564756c6522080880f2d6ca0610001a510a0a0a0363707512030a01341a00221d0a0552656164791204"
            "547275651a080880f2d6ca06100022002a00320032050a03088a503a1b0a0012001a0022002a0032003a0776312e33342e344200"
            "4a0052001a002200",
            R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n"},"spec":{"unschedulable":true,"taints":[{"key":
                   "k","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]},"status":{"capacity":{"cpu":"4"},
                   "conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:00Z"}],
                   "daemonEndpoints":{"kubeletEndpoint":{"Port":10250}},"nodeInfo":{"machineID":"","systemUUID":"",
                   "bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"v1.34.4",
                   "kubeProxyVersion":"","operatingSystem":"","architecture":""}}})"},
        Vector{
            "lease",
            "6b3873000a1f0a16636f6f7264696e6174696f6e2e6b38732e696f2f763112054c65617365122a0a130a016c12001a026e732200"
            "2a0032003800420012130a026d651028220b0880f2d6ca06108094ef3a1a002200",
            R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l","namespace":"ns"},"spec":
                   {"holderIdentity":"me","leaseDurationSeconds":40,"renewTime":"2026-01-01T00:00:00.123456Z"}})"},
        Vector{
            "event",
            "6b3873000a0b0a02763112054576656e7412630a130a016512001a026e7322002a0032003800420012130a044e6f646512001a01"
            "6e22002a0032003a001a015222014d2a0b0a076b7562656c6574120032080880f2d6ca0610003a080880f2d6ca06100040024a06"
            "4e6f726d616c5200620072007a001a002200",
            R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"ns"},"involvedObject":{"kind":
                   "Node","name":"n"},"reason":"R","message":"M","source":{"component":"kubelet"},"firstTimestamp":
                   "2026-01-01T00:00:00Z","lastTimestamp":"2026-01-01T00:00:00Z","count":2,"type":"Normal",
                   "reportingComponent":"","reportingInstance":""})"},
        Vector{
            "secret",
            "6b3873000a0c0a0276311206536563726574122e0a110a017312001a0022002a00320038004200120b0a056279746573120200ff"
            "12080a046e6f6e6512001a0028001a002200",
            R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"immutable":false,
                   "data":{"bytes":"AP8=","none":""}})"}),
    [](const auto& test) { return std::string(test.param.name); });

/// A ConfigMap envelope around these fields.
std::string config_map_of(const std::string& hex) {
  const std::string object = bytes_of(hex);
  return bytes_of("6b3873000a0f0a0276311209436f6e6669674d6170") + "\x12" + static_cast<char>(object.size()) + object;
}

struct Refusal {
  const char* name;
  std::string body;
  int status;
  const char* said;
};
class ProtobufRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(ProtobufRefusalTest, SaysWhatIsWrong) {
  const auto decoded = decode_protobuf_body(GetParam().body);
  ASSERT_FALSE(decoded.ok()) << json::write(*decoded);
  EXPECT_EQ(error_response(decoded.error()).status, GetParam().status);
  EXPECT_NE(decoded.error().to_string().find(GetParam().said), std::string::npos) << decoded.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(
    All, ProtobufRefusalTest,
    testing::Values(
        Refusal{"empty", "", 400, "does not begin with"},  //
        Refusal{"json", "{}", 400, "does not begin with"},
        Refusal{"cut_in_the_envelope", bytes_of("6b3873000a0f0a02"), 400, "ends in the middle of field 1"},
        Refusal{"no_kind", bytes_of("6b387300"), 415, "kind \"\""},
        Refusal{"unknown_envelope_field", bytes_of("6b3873002a00"), 400, "unexpected field 5"},
        Refusal{"compressed", bytes_of("6b3873001a0467") + "zip", 415, "an encoding of its own"},
        Refusal{
            "kind_without_a_table",
            bytes_of("6b3873000a0d0a02763112075365727669636512290a110a017312001a0022002a0032003800420012101a0022003a"
                     "00420052005a00600068001a020a001a002200"),
            415, "kind \"Service\" of v1 is not known"},
        Refusal{"unknown_field", config_map_of("2a00"), 415, "field 5 of ConfigMap (ConfigMap)"},
        Refusal{"unknown_field_inside", config_map_of("0a02ba0600"), 400, "ConfigMap.metadata"},
        Refusal{"unknown_field_of_metadata", config_map_of("0a03ba0600"), 415, "field 103 of ObjectMeta"},
        Refusal{"number_for_a_string", config_map_of("0a020801"), 400, "ConfigMap.metadata.name: is not a string"},
        Refusal{"string_for_a_number", config_map_of("0a023a00"), 400, "generation: is not a number"},
        Refusal{"string_not_utf8", config_map_of("0a030a01ff"), 400, "name: is not UTF-8"},
        Refusal{"map_key_not_utf8", config_map_of("12030a01ff"), 400, "data: is not UTF-8"},
        Refusal{"map_with_a_third_part", config_map_of("12021a00"), 415, "field 3 of an entry"},
        Refusal{"time_out_of_range", config_map_of("0a0e420c08ffffffffffffffff7f1000"), 400, "is not a time"},
        Refusal{"fixed_width_number", config_map_of("25"), 400, "wire type 5"},
        Refusal{"field_number_zero", config_map_of("0200"), 400, "number 0"},
        Refusal{"number_of_many_bytes", config_map_of("20ffffffffffffffffffff01"), 400, "more than 64 bits"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ProtobufBody, MessagesMayComeInPieces) {
  // metadata twice: the name from one, the namespace from the other
  const auto decoded = decode_protobuf_body(config_map_of("0a030a01610a031a0162"));
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  EXPECT_EQ(json::write(decoded->at("metadata")), R"({"name":"a","namespace":"b"})");
}

}  // namespace strake::apistore::rest::protobuf_body_test
