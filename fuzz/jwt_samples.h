// First inputs of fuzz_jwt: a key set, and what its owner signed once. The private keys are gone,
// so nothing else is ever accepted.
#pragma once

#include <string_view>

namespace coffer::fuzz {

inline constexpr std::string_view kIssuer = "https://login.example";
inline constexpr std::string_view kAudience = "coffer";
inline constexpr long kUnixTimeS = 1'800'000'000;

// clang-format off
inline constexpr std::string_view kKeySet =
    R"({"keys":[{"kid":"ec","kty":"EC","crv":"P-256","x":"5rSKmKf5oSQ8nZL9Knf5BN4MscIc48Mlf)"
    R"(yjN8FnyPa0","y":"3nrRDb4TwCNJq91fB4w2YncsZbuipE4L6CFwvdsGy2M","use":"sig"},{"kid":"r)"
    R"(sa","kty":"RSA","n":"nXL6Nplhxi5vDwerSryu8p_QD77qPFfx_MaUEycmCPuzc5YlhV53F0C5Wm3OejT)"
    R"(vYE5HeUpSaNfhAu7bv3baWgPbVYURp6KZjKKqYyWEl57mvdLL2Mf16EUHwXa9zByyv0_KHukK-1oWo5RPBLO)"
    R"(JF_73ASQPCEaIeHOgzq9cqu3gwq023UVA5z8qZOWg1_olDbeGqoQD44Dpv7SYyP14C2Fpth4l-56A9TsleYI)"
    R"(fLyM60G05egVj_5Voz_CKvBrCKoMrJgzYsY2cLasHD4bnvN1bB-HO7tLhcEEKN-ynfFTOMiKYoEN8pA1nsOo)"
    R"(Zkr-wElvFi02fWTN0c1jxj-Fraw","e":"AQAB","use":"sig","alg":"RS256"}]})";

inline constexpr std::string_view kSignedWithEs256 =
    R"(eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIn0.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJhdWQi)"
    R"(OlsiY29mZmVyIiwieCJdLCJzdWIiOiJhbGljZSIsImV4cCI6MTgwMDAwMDYwMCwiaWF0IjoxODAwMDAwMDAw)"
    R"(LCJyb2xlcyI6WyJndWlsZDptZW1iZXIiXX0.kLrj4dNN6lFkA0732zSDwh52KXkDN0RDFBG5HNCzutxeDQGD)"
    R"(05PfmFLQ_fJN-tnz2PRrS0rstF4anyVy6w3Crw)";

inline constexpr std::string_view kSignedWithRs256 =
    R"(eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJhdWQ)"
    R"(iOlsiY29mZmVyIiwieCJdLCJzdWIiOiJhbGljZSIsImV4cCI6MTgwMDAwMDYwMCwiaWF0IjoxODAwMDAwMDA)"
    R"(wLCJyb2xlcyI6WyJndWlsZDptZW1iZXIiXX0.a7b48jNh9rOOMZXkFPa4DIdcO-QNioE1RcXu99rIWRgxTl2)"
    R"(X1yk2VN3sNlhBzuwZJvs3dD4ok5pnbAE2Dr1YEmZ9Q-STubRfItf_3ModPPJV706y0EaZFody1ZWIUxKRiYG)"
    R"(W92l3l07e7qI7j8wMacwPmO60uYGqW5RYDjMNAVhs6PuOipVXrfdlgrpNGLobr5KMR-vCEpi2-rCXN3O3bcf)"
    R"(EMUJ-JFXLMv1rNlpvYO1_Iore1M2ATUNXhdpiDQkt95Sq60wmMpoFZrp40IVioOpN0wUUtj8VEGjSxil-Ve1)"
    R"(fmWMwf0k6Ggc-MIL-jGhLTYk05VSCDVwbfsntBtH1Mw)";
// clang-format on

inline constexpr std::string_view kClaims =
    R"({"iss":"https://login.example","aud":["coffer","x"],"sub":"alice","exp":1800000600,)"
    R"("nbf":1800000000.5,"iat":1800000000,"roles":["guild:member"],"realm":{"roles":["a"]}})";

}  // namespace coffer::fuzz
