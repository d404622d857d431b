"""Write links.csv and congestion.csv of the Bengaluru city pack from the roads described here.

The junctions are those of nodes.csv and zones.csv beside the output. A road is an ordered list of
junctions with its class, lanes and corridor; a link's length is the great-circle chord times the
road's factor. Congestion is the city's curve by hour times an excess by class and by side.
Run: ``python tools/citybuild_bengaluru_roads.py``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

PACK = Path(__file__).resolve().parents[1] / "ev_grid_oracle" / "city" / "data" / "bengaluru"

# name | class lanes [corridor] [x length factor] [oneway] | junctions in the driving order
# (chains are parted by ";"; an indented line continues the one above)
ROADS = """
Outer Ring Road | trunk 3 orr_east | Central Silk Board > HSR 5th Main > HSR 14th Main > Agara > Iblur >
  Bellandur > Ecospace > Devarabeesanahalli > Kadubeesanahalli > Marathahalli Bridge > Karthik Nagar >
  Doddanekkundi > Mahadevapura > B Narayanapura > KR Puram Bridge
Outer Ring Road | trunk 3 orr_north | Tin Factory > Kasturi Nagar > Ramamurthy Nagar > Horamavu >
  Babusapalya > HRBR Layout > Hennur ORR > Nagawara > Manyata Tech Park > Veerannapalya > Kempapura > Hebbal
  Flyover
Outer Ring Road | trunk 3 orr_north x1.15 | Hebbal Flyover > Bhadrappa Layout > Kuvempu Circle > BEL Circle
  > Muthyala Nagar > Goraguntepalya
Outer Ring Road | trunk 2 orr_north | Kasturi Nagar > KR Puram Bridge
Outer Ring Road | trunk 3 orr_west | Goraguntepalya > Nandini Layout > Laggere > Summanahalli > Kottigepalya
  > Papareddypalya > Nagarabhavi Circle > Jnanabharathi Gate > Nayandahalli > PES University > Hosakerehalli
  > Kathriguppe > Devegowda Petrol Bunk > Kadirenahalli
Outer Ring Road | trunk 2 orr_west | Kadirenahalli > Kumaraswamy Layout > Sarakki Signal > JP Nagar 24th
  Main > Delmia Circle > Jayadeva
Outer Ring Road | trunk 3 silk_board | Jayadeva > BTM 2nd Stage > Central Silk Board
Hosur Road | trunk 3 hosur_road | Central Silk Board > Roopena Agrahara > Bommanahalli > Garvebhavipalya >
  Kudlu Gate > Singasandra > Hosa Road > NICE Electronic City > Konappana Agrahara > Electronic City >
  Veerasandra Gate > Hebbagodi > Bommasandra > Chandapura > Attibele
Elevated Expressway | expressway 2 hosur_road x1.05 | Roopena Agrahara > Konappana Agrahara
Hosur Road | primary 2 | Vellara Junction > Langford Town > Adugodi > Forum > St John's Hospital > Madiwala
  > Central Silk Board
Sarjapur Road | primary 2 sarjapur_road | Koramangala Water Tank > Koramangala 3rd Block > Wipro Park; Agara
  > Bellandur Gate; Iblur > Bellandur Gate > Kaikondrahalli > Doddakannalli > Carmelaram > Kodathi >
  Sulikunte > Dommasandra > Yamare > Sarjapura
Sarjapur Road | primary 2 sarjapur_road | Madiwala > Koramangala Water Tank; Koramangala 3rd Block >
  Jakkasandra > HSR 14th Main; Wipro Park > Jakkasandra
Bellary Road | trunk 3 bellary_road | Windsor Circle > Cauvery Theatre > Mekhri Circle > Ganganagar > CBI
  Road > Hebbal > Hebbal Flyover
Airport Road | expressway 3 airport_road | Hebbal Flyover > Byatarayanapura > Jakkur > Yelahanka Circle >
  Kogilu Cross > Venkatala > Bagalur Cross > Air Force Station > Hunasamaranahalli > Chikkajala > Sadahalli
  Gate > Trumpet Interchange > KIAL Back Gate > KIAL Terminal
Airport Road Service | secondary 2 airport_road | Byatarayanapura > GKVK > Jakkur
Bellary Road | trunk 2 | Trumpet Interchange > Devanahalli
Old Madras Road | primary 2 old_madras_road | Trinity Circle > Halasuru > Old Madras Road 100 ft > NGEF >
  Tin Factory > KR Puram Bridge > KR Puram Station > KR Puram > Bhattarahalli > Medahalli > Budigere Cross >
  Hoskote
Old Airport Road | primary 2 old_airport_road x1.20 | Trinity Circle > Command Hospital > Domlur Village
Old Airport Road | primary 2 old_airport_road | Domlur Village > Domlur Flyover > Kodihalli > ISRO Junction
  > Murugeshpalya > HAL Airport > Yemalur Cross > Marathahalli Bridge
Varthur Road | primary 2 old_airport_road | Marathahalli Bridge > Kundalahalli Gate > Siddapura >
  Ramagondanahalli > Varthur Kodi > Varthur
Gunjur Road | secondary 1 | Varthur > Gunjur > Sulikunte
Mysore Road | trunk 2 mysore_road | Sirsi Circle > Mysore Road Toll Gate > Satellite Bus Stand > Deepanjali
  Nagar > Nayandahalli > Rajarajeshwari Nagar Arch > Global Village > RV College > Kengeri TTMC > NICE
  Mysore Road > Kumbalgodu > Bidadi
Magadi Road | primary 2 | Leprosy Hospital > Toll Gate > Housing Board > Kamakshipalya > Summanahalli >
  Sunkadakatte > Anjananagar > Byadarahalli > Magadi Road NICE > Tavarekere Magadi
Tumkur Road | trunk 3 tumkur_road | Yeshwanthpur > Goraguntepalya > Peenya SRS > Jalahalli Cross >
  Dasarahalli > Eighth Mile > Nagasandra > Parle Toll > NICE Tumkur Road > Makali > Nelamangala
Tumkur Elevated Road | expressway 2 tumkur_road | Peenya SRS > Nagasandra
Tumkur Road | primary 2 tumkur_road | Yeshwanthpur Circle > Yeshwanthpur
Bannerghatta Road | primary 2 bannerghatta_road x1.09 | Adugodi > Dairy Circle > Gurappanapalya > Jayadeva >
  Bilekahalli > IIM Bilekahalli > Arekere Gate > Hulimavu Gate > Meenakshi Temple > Gottigere > NICE
  Bannerghatta Road > Bannerghatta
Kanakapura Road | primary 2 | Lalbagh West Gate > South End Circle > Yediyur > Banashankari > Sarakki Signal
  > Yelachenahalli > Konanakunte Cross > Doddakallasandra > Vajarahalli > Talaghattapura > NICE Kanakapura
  Road
NICE Road | expressway 3 x1.12 | NICE Tumkur Road > Magadi Road NICE > NICE Mysore Road > NICE Uttarahalli
  Road > NICE Kanakapura Road > NICE Bannerghatta Road > NICE Electronic City
Doddaballapur Road | primary 2 | Yelahanka Police Station > Yelahanka Old Town > Puttenahalli Lake >
  Singanayakanahalli > Rajanukunte
Yelahanka Link | primary 2 | Yelahanka Circle > Yelahanka Police Station > Yelahanka New Town > Yelahanka
  Satellite > Attur > Vidyaranyapura
Yelahanka New Town Road | secondary 1 | Yelahanka New Town > Puttenahalli Lake > Yelahanka Satellite;
  Yelahanka Old Town > Kogilu Cross; Yelahanka Old Town > Yelahanka Circle
Vidyaranyapura Road | secondary 1 | BEL Circle > Jalahalli Village > Gangamma Circle > MS Palya >
  Vidyaranyapura > Kodigehalli > Bhadrappa Layout; MS Palya > Attur; Gangamma Circle > Abbigere > Nagasandra
Sahakar Nagar Road | secondary 1 | Kodigehalli > Sahakar Nagar > Byatarayanapura > Amruthahalli > Jakkur
  Village > Jakkur; Amruthahalli > Kempapura
Kogilu Road | secondary 1 | Kogilu Cross > Kogilu Village > Kannur > Bagalur; Bagalur Cross > Bagalur >
  Meesaganahalli > Doddajala > Chikkajala; Meesaganahalli > Yerthiganahalli > KIAL Terminal
Bilishivale Road | secondary 1 x1.20 | Kannur > Bilishivale > Kithaganur
Budigere Road | secondary 1 | Budigere Cross > Budigere > Yerthiganahalli
Hennur Road | secondary 2 | Lingarajapuram > Hennur ORR > Hennur Bande > Geddalahalli > Kothanur > Hennur
  Bagalur Cross > Kannur
Thanisandra Road | secondary 2 | Arabic College > Nagawara > Thanisandra > Jakkur Village; Thanisandra >
  Geddalahalli; Kogilu Village > Jakkur Village
Tannery Road | secondary 1 | Frazer Town > Tannery Road > Kaval Byrasandra > Arabic College; Sultanpalya >
  Arabic College
RT Nagar Main Road | secondary 1 x1.25 | TV Tower > Munireddypalya > RT Nagar > Sultanpalya > Veerannapalya;
  CBI Road > RT Nagar; Ganganagar > RT Nagar; RT Nagar > Kaval Byrasandra; Munireddypalya > Tannery Road
Jayamahal Road | primary 2 | Cantonment Station > Jayamahal > TV Tower > Mekhri Circle
CV Raman Road | trunk 2 | Mekhri Circle > Sadashivanagar > Tata Institute Circle > Yeshwanthpur Circle
New BEL Road | secondary 2 | Sadashivanagar > Ramaiah Hospital > New BEL Road > Kuvempu Circle
Mathikere Road | secondary 2 | Yeshwanthpur Circle > Gokula > Mathikere > BEL Circle; Gokula > Ramaiah
  Hospital; Mathikere > New BEL Road; Mathikere > Yeshwanthpur; Goraguntepalya > Mathikere
Sankey Road | primary 3 | Basaveshwara Circle > Windsor Circle; Cauvery Theatre > Sankey Tank > Sampige Road
  18th Cross; Sankey Tank > Sadashivanagar
Sampige Road | secondary 2 | Sheshadripuram > Malleshwaram Circle > Sampige Road 18th Cross > Tata Institute
  Circle
West of Chord Road | primary 3 | Yeshwanthpur Circle > Iskcon; Yeshwanthpur > Iskcon > Rajajinagar Metro >
  Navrang > Modi Hospital; Rajajinagar Metro > Housing Board > Vijayanagar Metro > Attiguppe > Deepanjali
  Nagar
Dr Rajkumar Road | secondary 2 | Mariyappanapalya > Navrang > Dr Rajkumar Road > Bashyam Circle > Sujata
  Theatre > Leprosy Hospital; Iskcon > Navrang; Bashyam Circle > Toll Gate
Malleshwaram Link | secondary 2 | Malleshwaram Circle > Mariyappanapalya > Iskcon; Mariyappanapalya >
  Sampige Road 18th Cross; Sujata Theatre > Okalipuram
Platform Road | primary 2 x1.30 | Anand Rao Circle > Swastik > Malleshwaram Circle; Okalipuram > Swastik
Basaveshwaranagar Road | secondary 1 | Modi Hospital > Basaveshwaranagar > Kamakshipalya; Dr Rajkumar Road >
  Rajajinagar Metro; Modi Hospital > Mahalakshmi Layout > Nandini Layout; Mahalakshmi Layout > Iskcon;
  Basaveshwaranagar > Housing Board; Laggere > Basaveshwaranagar; Mahalakshmi Layout > Goraguntepalya
Laggere Main Road | secondary 1 | Peenya 1st Stage > Laggere > Mahalakshmi Layout
Peenya Industrial Roads | secondary 1 | Summanahalli > Hegganahalli > Rajagopalanagar > Peenya 1st Stage >
  Peenya 4th Phase > Chokkasandra > Eighth Mile; Peenya 1st Stage > Peenya SRS > Peenya 4th Phase;
  Chokkasandra > Dasarahalli; Peenya 4th Phase > Jalahalli Cross; Rajagopalanagar > Laggere; Sunkadakatte >
  Hegganahalli > Andrahalli > Byadarahalli; Andrahalli > Parle Toll
Jalahalli Road | secondary 2 | Jalahalli Cross > Jalahalli Village; Muthyala Nagar > Jalahalli Village;
  Jalahalli Cross > Gangamma Circle
Nagarabhavi Road | secondary 2 | Vijayanagar Metro > Chandra Layout > Nagarabhavi Circle > Mallathahalli >
  Ullal > Kengeri Satellite Town > Kengeri TTMC; Chandra Layout > Attiguppe; Chandra Layout > Nayandahalli;
  Kottigepalya > Sunkadakatte; Papareddypalya > Mallathahalli > Anjananagar; Vijayanagar Metro >
  Kamakshipalya
Vijayanagar Roads | secondary 1 | Toll Gate > Vijayanagar Metro; Attiguppe > Satellite Bus Stand; Chandra
  Layout > Kamakshipalya; Kamakshipalya > Nagarabhavi Circle
University Road | secondary 1 | Jnanabharathi Gate > Jnanabharathi > Global Village; Jnanabharathi >
  Rajarajeshwari Nagar Arch; Ullal > RV College; Kengeri Satellite Town > RV College; Kommaghatta > Kengeri
  Satellite Town; NICE Mysore Road > Kommaghatta
RR Nagar Roads | secondary 2 | Rajarajeshwari Nagar Arch > RR Nagar Double Road > Channasandra RR Nagar >
  Uttarahalli; Channasandra RR Nagar > NICE Uttarahalli Road > Kengeri TTMC
Uttarahalli Road | secondary 2 | Devegowda Petrol Bunk > Padmanabhanagar > Chikkalasandra > Uttarahalli >
  Subramanyapura > Vajarahalli; Kathriguppe > Uttarahalli; Padmanabhanagar > Kadirenahalli > Banashankari;
  Subramanyapura > Konanakunte Cross; Chikkalasandra > Kumaraswamy Layout > Yelachenahalli
JP Nagar Roads | secondary 2 | Delmia Circle > JP Nagar > Puttenahalli > JP Nagar 8th Phase > Konanakunte
  Cross; JP Nagar > JP Nagar 24th Main; JP Nagar 8th Phase > Kothnur > Jambu Savari Dinne > Gottigere;
  Puttenahalli > Arekere Gate; Kothnur > Hulimavu Gate; Konanakunte Cross > Anjanapura > Jambu Savari Dinne;
  Jambu Savari Dinne > Meenakshi Temple; Delmia Circle > Jayanagar 9th Block; JP Nagar > Bilekahalli;
  Puttenahalli > Yelachenahalli; Anjanapura > Talaghattapura
Marenahalli Road | primary 2 x1.05 | Banashankari > RV Road Metro > Jayanagar 9th Block > Jayadeva; Sarakki
  Signal > RV Road Metro; JP Nagar 24th Main > RV Road Metro
RV Road | primary 2 | RV Road Metro > South End Circle
Jayanagar Main Roads | secondary 2 | Ashoka Pillar > Jayanagar 4th Block > Jayanagar East End > RV Road
  Metro; South End Circle > Ashoka Pillar > Lakkasandra > Dairy Circle; Jayanagar 4th Block > Tilaknagar >
  Gurappanapalya; Tilaknagar > Jayanagar 9th Block; Jayanagar 3rd Block > Tilaknagar; Ashoka Pillar >
  Jayanagar 3rd Block > Dairy Circle; Yediyur > Jayanagar 4th Block; Jayanagar East End > Tilaknagar; South
  End Circle > Jayanagar 4th Block; Lakkasandra > Wilson Garden; Lakkasandra > Adugodi; Lalbagh Main Gate >
  Ashoka Pillar
Basavanagudi Roads | secondary 2 | KR Market > Makkala Koota > National College > Basavanagudi Police >
  Yediyur; National College > Lalbagh West Gate > Minerva Circle; Basavanagudi Police > South End Circle;
  Gandhi Bazaar > National College; Basavanagudi Police > Gandhi Bazaar > Hanumanthanagar > Srinivasanagar >
  Kathriguppe; Chamarajpet > Gandhi Bazaar; Makkala Koota > Chamarajpet > Sirsi Circle; Minerva Circle >
  Makkala Koota; Srinivasanagar > Devegowda Petrol Bunk > Banashankari; Hanumanthanagar > Mysore Road Toll
  Gate; Basavanagudi Police > Srinivasanagar; Srinivasanagar > Hosakerehalli
BTM Roads | secondary 1 | Jayadeva > BTM Water Tank > Kuvempunagar > Madiwala Lake > Devarachikkanahalli;
  BTM Water Tank > BTM 2nd Stage > Tavarekere > Forum; Tavarekere > Dairy Circle; Tavarekere >
  Gurappanapalya; Tavarekere > Madiwala; Kuvempunagar > BTM 2nd Stage; Madiwala Lake > Bilekahalli;
  Devarachikkanahalli > Hongasandra > Bommanahalli > Begur; Madiwala Lake > Roopena Agrahara; Hongasandra >
  Garvebhavipalya; Begur > Akshayanagar > Hulimavu Gate; Akshayanagar > Basavanapura > NICE Bannerghatta
  Road
Begur Road | secondary 1 x1.25 | Devarachikkanahalli > Begur > Hosa Road; Devarachikkanahalli > Arekere Gate
HSR Layout Roads | secondary 2 | HSR BDA Complex > HSR 5th Main; HSR BDA Complex > HSR 14th Main; HSR BDA
  Complex > HSR 27th Main > Agara; HSR 27th Main > Parangipalya > Haralur > Haralur Road > Kudlu > Kudlu
  Gate; Parangipalya > Somasundarapalya > Garvebhavipalya; Somasundarapalya > HSR BDA Complex; Haralur >
  Kasavanahalli > Kaikondrahalli; Somasundarapalya > Kudlu Gate; Iblur > Haralur
Mangammanapalya Road | secondary 1 x1.30 | Bommanahalli > HSR BDA Complex
Hosa Road East | secondary 1 | Hosa Road > Kasavanahalli Hosa Road > Choodasandra > Kasavanahalli; Kudlu >
  Kasavanahalli Hosa Road; Choodasandra > Doddakannalli; Harohalli Gate > Choodasandra; Harohalli Gate >
  Dommasandra; Kasavanahalli > Doddakannalli
Electronic City Roads | secondary 2 | Konappana Agrahara > Electronic City Phase 1 > Wipro Gate > Neeladri
  Road > Doddathogur > Konappana Agrahara; Electronic City Phase 1 > Electronic City > Electronic City Phase
  2 > Veerasandra Gate; Doddathogur > Chikkathogur > Singasandra; Wipro Gate > Doddathogur
Jigani Road | secondary 2 | Bannerghatta > Jigani > Yarandahalli > Bommasandra; Yarandahalli > Chandapura;
  Neeladri Road > Yarandahalli
Attibele Road | secondary 1 | Attibele > Sarjapura
Inner Ring Road | primary 2 | Domlur Flyover > Embassy Golf Links > Srinivagilu > Sony World > Koramangala
  80 ft
100 Feet Road Koramangala | primary 2 | Sony World > Maharaja Junction > Forum
80 Feet Road Koramangala | secondary 2 | Koramangala 80 ft > Koramangala Water Tank; National Games Village
  > Maharaja Junction > Koramangala 80 ft; Koramangala 80 ft > Koramangala 3rd Block; Wipro Park > Ejipura >
  Srinivagilu; Ejipura > Sony World; Adugodi > Maharaja Junction; Koramangala Water Tank > St John's
  Hospital; Sony World > Wipro Park
Viveknagar Road | secondary 1 x1.08 | Austin Town > Viveknagar > National Games Village > Ejipura
Austin Town Road | tertiary 1 x1.30 | Trinity Circle > Austin Town; D'Souza Circle > Austin Town > Langford
  Town; Command Hospital > Austin Town
100 Feet Road Indiranagar | primary 2 | Old Madras Road 100 ft > Indiranagar > 100 ft 12th Main > Domlur
  Flyover
Indiranagar Roads | secondary 2 | Halasuru > Jogupalya > 100 ft 12th Main > Thippasandra > Suranjan Das
  Road; Indiranagar > CMH Road > NGEF; CMH Road > Thippasandra; Halasuru > Indiranagar; Thippasandra > ISRO
  Junction; Jogupalya > Domlur Village; Baiyappanahalli > Old Madras Road 100 ft; Thippasandra > Kodihalli
Suranjan Das Road | secondary 2 | NGEF > GTRE Gate > Suranjan Das Road > Murugeshpalya; CV Raman Nagar >
  GTRE Gate; CV Raman Nagar > Kaggadasapura > Vibhutipura > HAL Airport; Suranjan Das Road > Vibhutipura;
  Kaggadasapura > Mahadevapura
Nagavarapalya Road | secondary 1 x1.30 | CV Raman Nagar > NGEF
Banaswadi Road | secondary 2 | Maruthi Seva Nagar > IOC Circle > Banaswadi > Ramamurthy Nagar; Cox Town >
  Jeevanahalli > Baiyappanahalli; Jeevanahalli > Maruthi Seva Nagar; IOC Circle > Kammanahalli > HRBR
  Layout; Kammanahalli > Lingarajapuram; Banaswadi > Babusapalya; Banaswadi > Kasturi Nagar > NGEF; Cox Town
  > Maruthi Seva Nagar; Frazer Town > Lingarajapuram > Tannery Road; Maruthi Seva Nagar > Lingarajapuram;
  Kammanahalli > Banaswadi; Kammanahalli > Hennur ORR
Outer Banaswadi Road | secondary 1 x1.30 | Banaswadi > Horamavu
Horamavu Road | secondary 1 | Horamavu > Horamavu Agara > Kalkere > Kithaganur > TC Palya > Bhattarahalli;
  Ramamurthy Nagar > Anandapura > TC Palya; Anandapura > Kalkere; Kithaganur > Medahalli; Horamavu Agara >
  Hennur Bande; TC Palya > KR Puram
Whitefield Main Road | primary 2 | Hope Farm > Whitefield Inner Circle > Varthur Kodi; Hope Farm >
  Whitefield Station > Kadugodi > Seegehalli > Budigere Cross; Hope Farm > Channasandra > Kadugodi;
  Whitefield Inner Circle > Hagadur > Immadihalli > Channasandra
ITPL Main Road | primary 2 | Kundalahalli Gate > Brookefield > Kundalahalli ITPL Road > Vydehi > ITPL > Hope
  Farm; Graphite India > Kundalahalli ITPL Road; Vydehi > Nallurhalli > Whitefield Inner Circle; Nallurhalli
  > Siddapura; Kundalahalli Colony > Brookefield; Graphite India > Kundalahalli Colony; Kundalahalli Colony
  > AECS Layout > Kundalahalli Gate
Whitefield Road | primary 2 | Mahadevapura > Garudachar Palya; B Narayanapura > Garudachar Palya > Hoodi >
  ITPL; Hoodi > Graphite India; Hoodi > Ayyappanagar > KR Puram; Garudachar Palya > Ayyappanagar
ITI Road | secondary 1 | KR Puram Station > ITI Gate > KR Puram
Panathur Road | tertiary 1 x1.25 | Kadubeesanahalli > Panathur > Balagere > Varthur; Panathur > Munnekolala
  > Kundalahalli Gate; Munnekolala > Marathahalli Bridge; Bellandur > Bellandur Village > Yemalur > Yemalur
  Cross; Carmelaram > Gunjur; Balagere > Gunjur
MG Road | primary 2 cbd_core | Queen's Statue Circle > Anil Kumble Circle > Museum Road > Brigade Road >
  Mayo Hall > Trinity Circle
Residency Road | primary 3 cbd_core oneway | Richmond Circle > Ashirvadam Circle > St Patrick's Church >
  Opera House > Mayo Hall
Richmond Road | primary 3 cbd_core oneway | D'Souza Circle > Richmond Road Commissariat > Vellara Junction >
  Convent Road > Richmond Circle
Convent Road | tertiary 1 cbd_core | Convent Road > Ashirvadam Circle
Richmond Road | primary 2 cbd_core | Trinity Circle > D'Souza Circle
Brigade Road | secondary 2 cbd_core oneway | Brigade Road > Opera House > Vellara Junction
Museum Road | tertiary 2 cbd_core oneway | Vellara Junction > St Patrick's Church
Museum Road | tertiary 2 cbd_core | St Patrick's Church > Museum Road
Walton Road | tertiary 1 cbd_core x1.25 | St Patrick's Church > Lavelle Road
Magrath Road | tertiary 1 cbd_core oneway | D'Souza Circle > Mayo Hall
Commissariat Road | secondary 2 cbd_core oneway | Mayo Hall > Garuda Mall
Commissariat Road | secondary 2 cbd_core | Garuda Mall > Richmond Road Commissariat
St Mark's Road | secondary 3 cbd_core oneway | Anil Kumble Circle > Ashirvadam Circle
Central Street | secondary 2 cbd_core | Anil Kumble Circle > Shivajinagar BRV
Magrath Road | tertiary 1 cbd_core | Opera House > Garuda Mall > D'Souza Circle
Kasturba Road | primary 3 cbd_core | Hudson Circle > Kanteerava Circle; UB City > Queen's Statue Circle
Kasturba Road | primary 3 cbd_core oneway | Kanteerava Circle > UB City
Sampangi Tank Road | tertiary 1 cbd_core x1.60 oneway | UB City > Hudson Circle
Vittal Mallya Road | tertiary 2 cbd_core x1.25 | UB City > Richmond Circle
Lavelle Road | tertiary 1 cbd_core | Queen's Statue Circle > Lavelle Road > Ashirvadam Circle; UB City >
  Lavelle Road
Kanteerava Stadium Road | tertiary 1 cbd_core x1.50 | Kanteerava Circle > Richmond Circle
Infantry Road | secondary 2 cbd_core oneway | Minsk Square > Safina Plaza > Commercial Street
Main Guard Cross Road | tertiary 1 cbd_core oneway | Safina Plaza > Cubbon Road Kamaraj
Main Guard Cross Road | tertiary 1 cbd_core x2.50 oneway | Safina Plaza > Shivajinagar BRV
Cunningham Road | secondary 2 cbd_core oneway | Balekundri Circle > Cunningham Road North
Cubbon Road | primary 2 cbd_core | Minsk Square > Shivajinagar BRV > Cubbon Road Kamaraj > Cubbon Road
  Dickenson > Mayo Hall
Queen's Road | secondary 2 cbd_core | Balekundri Circle > Minsk Square > Queen's Statue Circle
Queen's Road | secondary 2 cbd_core oneway | Queen's Road North > Balekundri Circle
Kamaraj Road | secondary 2 cbd_core | Brigade Road > Cubbon Road Kamaraj > Commercial Street
Kamaraj Road | secondary 2 | Commercial Street > St John's Church
Central Street | secondary 2 oneway | Shivajinagar BRV > Safina Plaza > Shivajinagar Bus Stand
Millers Road | secondary 2 x1.25 | Cunningham Road North > Queen's Road North > Cantonment Station;
  Cunningham Road North > Windsor Circle; Shivajinagar Bus Stand > Queen's Road North; Basaveshwara Circle >
  Cunningham Road North
Raj Bhavan Road | primary 3 oneway | Minsk Square > Basaveshwara Circle
Ali Asker Road | tertiary 1 x1.45 | Basaveshwara Circle > Balekundri Circle
Ambedkar Veedhi | primary 3 | KR Circle > Vidhana Soudha > Minsk Square
Palace Road | secondary 2 oneway | Mysore Bank Circle > Maharani College
Palace Road | secondary 2 | Maharani College > Basaveshwara Circle
Cubbon Park Road | tertiary 1 x1.06 | UB City > KR Circle
Cubbon Park Road | tertiary 1 oneway | Hudson Circle > KR Circle
Nrupathunga Road | primary 3 oneway | KR Circle > Hudson Circle
Kempegowda Road | primary 3 oneway | Corporation Circle > Mysore Bank Circle > Upparpet > Majestic
Kalidasa Road | tertiary 1 oneway x1.25 | Maharani College > Upparpet
BVK Iyengar Road | tertiary 1 oneway x1.50 | Majestic > Upparpet > Mysore Bank Circle
District Office Road | secondary 2 | Mysore Bank Circle > KR Circle
Sheshadri Road | primary 2 | KR Circle > Maharani College > Anand Rao Circle > Khoday Circle > Okalipuram;
  Anand Rao Circle > Majestic > Khoday Circle
Race Course Road | secondary 2 | Anand Rao Circle > Shivananda Circle > Trilight Circle > Basaveshwara
  Circle; Shivananda Circle > Sheshadripuram > Swastik
Goods Shed Road | primary 2 | Majestic > Goods Shed Road > Leprosy Hospital; Goods Shed Road > Sirsi Circle;
  Okalipuram > Leprosy Hospital; Goods Shed Road > KR Market
BGS Flyover | trunk 2 x1.05 | Sirsi Circle > Town Hall
NR Road | primary 3 oneway | Town Hall > KR Market
SJP Road | primary 3 oneway | KR Market > Town Hall
Mysore Road | primary 2 | KR Market > Sirsi Circle
Avenue Road | tertiary 1 oneway | KR Market > Mysore Bank Circle
JC Road | primary 3 oneway | Minerva Circle > Town Hall
JC Road | primary 2 | Town Hall > Corporation Circle
Mission Road | primary 2 x1.25 | Corporation Circle > Subbaiah Circle > Double Road > Richmond Circle;
  Subbaiah Circle > Richmond Circle
Corporation Circle Road | primary 3 | Corporation Circle > Hudson Circle; Town Hall > Subbaiah Circle
Raja Ram Mohan Roy Road | primary 3 oneway | Richmond Circle > Hudson Circle
Lalbagh Road | primary 2 oneway | Subbaiah Circle > Lalbagh Main Gate
KH Road | primary 3 | Double Road > Shanthinagar > Wilson Garden
Lalbagh Fort Road | primary 2 | Minerva Circle > Lalbagh Main Gate > Shanthinagar; Wilson Garden > Dairy
  Circle
Neelasandra Road | secondary 1 x1.20 | Viveknagar > Adugodi
MV Jayaram Road | tertiary 1 x1.20 | Windsor Circle > Jayamahal; Windsor Circle > Cantonment Station
Rhenius Street | tertiary 1 x1.25 | Langford Town > Convent Road
Victoria Road | tertiary 1 x1.30 | Austin Town > Richmond Road Commissariat
Cambridge Road | secondary 1 | Halasuru > Command Hospital
Rest House Road | tertiary 1 cbd_core oneway x1.35 | Opera House > St Patrick's Church
Narayana Pillai Street | tertiary 1 oneway | Commercial Street > Safina Plaza
Cambridge Layout Road | tertiary 1 | Command Hospital > Jogupalya
Kalasipalya Main Road | tertiary 1 | Minerva Circle > KR Market
OTC Road | tertiary 1 oneway x1.25 | Mysore Bank Circle > KR Market
Devaraj Urs Road | tertiary 2 x1.20 | Basaveshwara Circle > Vidhana Soudha
AM Road | tertiary 1 oneway x1.25 | Town Hall > Minerva Circle
Broadway Road | tertiary 1 oneway x1.40 | Shivajinagar Bus Stand > Safina Plaza
Venkataswamy Naidu Road | tertiary 2 | Balekundri Circle > Shivajinagar Bus Stand
Kumara Krupa Road | secondary 2 | Windsor Circle > Shivananda Circle
Langford Road | tertiary 1 x1.35 | Langford Town > Double Road; Wilson Garden > Langford Town
Ulsoor Road | secondary 2 | Trinity Circle > Gangadhar Chetty Circle
Kensington Road | secondary 2 x1.25 | Gangadhar Chetty Circle > Kensington Road > Cox Town; Kensington Road
  > Murphy Town > Old Madras Road 100 ft; St John's Church > Kensington Road; Cubbon Road Dickenson >
  Gangadhar Chetty Circle > Halasuru; Murphy Town > Halasuru
Gangadhar Chetty Road | secondary 2 | Commercial Street > Gangadhar Chetty Circle
St John's Church Road | secondary 2 x1.22 | Commercial Street > Shivajinagar Bus Stand > Coles Park > Frazer
  Town > Cox Town; St John's Church > Coles Park; Cantonment Station > Coles Park; Coles Park > Queen's Road
  North; Jayamahal > Coles Park; St John's Church > Cox Town; Cantonment Station > Shivajinagar Bus Stand
Dickenson Road | secondary 2 oneway | Mayo Hall > Commercial Street
"""

# road length over chord by class, where a road does not name its own
LENGTH_FACTOR = {"expressway": 1.06, "trunk": 1.09, "primary": 1.12, "secondary": 1.13, "tertiary": 1.15}

# links (both directions) prone to water-logging, general knowledge; every junction keeps a dry way out
LOW_LYING = """
Central Silk Board > HSR 5th Main; Madiwala > Central Silk Board; Iblur > Bellandur; Bellandur > Ecospace;
Iblur > Bellandur Gate; HSR BDA Complex > HSR 14th Main; HSR BDA Complex > HSR 27th Main; KR Puram Bridge >
Tin Factory; B Narayanapura > KR Puram Bridge; Hebbal Flyover > Kempapura; Manyata Tech Park > Nagawara;
Ramagondanahalli > Varthur Kodi; Varthur Kodi > Varthur; Anand Rao Circle > Khoday Circle > Okalipuram;
Okalipuram > Leprosy Hospital; Upparpet > Majestic; KR Circle > Hudson Circle; Panathur > Kadubeesanahalli;
Marathahalli Bridge > Munnekolala; Rajarajeshwari Nagar Arch > Global Village; Koramangala 80 ft >
Koramangala Water Tank; Ejipura > Sony World; Horamavu > Horamavu Agara; Goods Shed Road > KR Market;
Cantonment Station > Jayamahal
"""

JAM_CENTRE, JAM_CORRIDOR, JAM_RADIUS_M = "Central Silk Board", "silk_board", 2_000.0

# congestion: excess (factor - 1) of a class and of a side relative to the city's mean (assumption)
CLASS_EXCESS = {"expressway": 0.62, "trunk": 0.97, "primary": 1.06, "secondary": 1.02, "tertiary": 0.96}
SIDE_EXCESS = {"cbd": 1.22, "north": 0.92, "east": 1.10, "south": 1.02, "west": 0.92}
SUNDAY_EXCESS = 0.70
BUMPS = ((0.70, 9.2, 1.6), (0.88, 18.5, 2.0), (0.50, 14.0, 4.0))  # size, hour, sd in hours


class Node(NamedTuple):
    """A junction with the side of the city its zone lies on."""

    node_id: int
    lat: float
    lon: float
    side: str


class Link(NamedTuple):
    """One direction of a road between two junctions (by name)."""

    start: str
    end: str
    road: str
    road_class: str
    lanes: int
    length_m: int
    length_factor: float
    corridor: str


def chord_m(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Great-circle distance in metres."""
    dlat, dlon = math.radians(lat2 - lat1), math.radians(lon2 - lon1)
    a = math.sin(dlat / 2) ** 2
    a += math.cos(math.radians(lat1)) * math.cos(math.radians(lat2)) * math.sin(dlon / 2) ** 2
    return 2 * 6_371_000.0 * math.asin(math.sqrt(a))


def read_rows(name: str) -> list[dict[str, str]]:
    """Rows of one table of the pack."""
    with (PACK / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_nodes() -> dict[str, Node]:
    """Junctions by name."""
    side = {row["zone_id"]: row["side"] for row in read_rows("zones.csv")}
    nodes: dict[str, Node] = {}
    for row in read_rows("nodes.csv"):
        if row["name"] in nodes:
            raise ValueError(f"junction listed twice: {row['name']}")
        lat, lon = float(row["lat"]), float(row["lon"])
        nodes[row["name"]] = Node(int(row["node_id"]), lat, lon, side[row["zone"]])
    return nodes


def chains(text: str) -> list[list[str]]:
    """`A > B > C; D > E` as lists of names."""
    return [[name.strip() for name in chain.split(">")] for chain in " ".join(text.split()).split(";")]


def corridor_of(corridor: str, a: Node, b: Node, centre: Node) -> str:
    """The road's corridor, or the jam's where the link's middle is near its centre."""
    middle = (a.lat + b.lat) / 2, (a.lon + b.lon) / 2
    near = chord_m(*middle, centre.lat, centre.lon) <= JAM_RADIUS_M
    return JAM_CORRIDOR if near else corridor


def make_links(nodes: dict[str, Node]) -> list[Link]:
    """Directed links in the order of ROADS; naming a direction twice is an error."""
    links: dict[tuple[str, str], Link] = {}
    for line in ROADS.strip().replace("\n  ", " ").splitlines():
        road, head, body = (part.strip() for part in line.split("|"))
        road_class, lanes, *options = head.split()
        factor = next((float(o[1:]) for o in options if o[0] == "x"), LENGTH_FACTOR[road_class])
        corridor = next((o for o in options if o[0] != "x" and o != "oneway"), "")
        for a, b in (pair for chain in chains(body) for pair in pairwise(chain)):
            for start, end in ((a, b),) if "oneway" in options else ((a, b), (b, a)):
                if (start, end) in links:
                    raise ValueError(f"{road}: {start} > {end} is already part of {links[start, end].road}")
                u, v = nodes[start], nodes[end]
                length_m = math.ceil(chord_m(u.lat, u.lon, v.lat, v.lon) * factor)
                part_of = corridor_of(corridor, u, v, nodes[JAM_CENTRE])
                links[start, end] = Link(start, end, road, road_class, int(lanes), length_m, factor, part_of)
    return list(links.values())


def link_rows(nodes: dict[str, Node], links: list[Link]) -> list[list[object]]:
    """Rows of links.csv."""
    low = {frozenset(pair) for chain in chains(LOW_LYING) for pair in pairwise(chain)}
    if unknown := low - {frozenset((link.start, link.end)) for link in links}:
        raise ValueError(f"low-lying links that do not exist: {sorted(map(sorted, unknown))}")
    rows: list[list[object]] = []
    for link_id, link in enumerate(links):
        a, b = nodes[link.start], nodes[link.end]
        low_lying = int(frozenset((link.start, link.end)) in low)
        cbd = int(a.side == b.side == "cbd")
        source = f"general; length = chord x {link.length_factor:.2f}"
        ends, road = (a.node_id, b.node_id), (link.road, link.road_class, link.lanes, link.length_m)
        rows.append([link_id, *ends, *road, link.corridor, low_lying, cbd, source])
    return rows


def congestion_rows(nodes: dict[str, Node], links: list[Link]) -> list[list[object]]:
    """Rows of congestion.csv; a link lies on its start junction's side, an hour's value is at its start."""
    excess = {(c, s): x * y for c, x in CLASS_EXCESS.items() for s, y in SIDE_EXCESS.items()}
    mean = sum(link.length_m * excess[link.road_class, nodes[link.start].side] for link in links)
    mean /= sum(link.length_m for link in links)
    city = [sum(k * math.exp(-0.5 * ((h - at) / sd) ** 2) for k, at, sd in BUMPS) for h in range(24)]
    return [
        [day, road_class, side, *(f"{1 + scale * x * part / mean:.3f}" for x in city)]
        for day, scale in (("weekday", 1.0), ("sunday", SUNDAY_EXCESS))
        for (road_class, side), part in excess.items()
    ]


def write(name: str, header: str, rows: Iterable[Sequence[object]]) -> None:
    """Write one table: UTF-8, LF, comma."""
    with (PACK / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split(","))
        writer.writerows(rows)


def main() -> None:
    """Write both tables."""
    nodes = read_nodes()
    links = make_links(nodes)
    header = "link_id,from_node,to_node,name,class,lanes,length_m,corridor,low_lying,cbd,source"
    write("links.csv", header, link_rows(nodes, links))
    hours = ",".join(f"h{h:02d}" for h in range(24))
    write("congestion.csv", f"day_type,class,zone_side,{hours}", congestion_rows(nodes, links))


if __name__ == "__main__":
    main()
